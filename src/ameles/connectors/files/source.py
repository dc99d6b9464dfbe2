"""Files as a source: the base of text, compressed and Parquet files."""

from __future__ import annotations

import glob
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self, TypeAlias

from ameles.connectors.files.identity import Present, settled
from ameles.connectors.files.looks import Looks
from ameles.connectors.files.named_files import NamedFile, closed_folders, find_files, names_file
from ameles.connectors.files.refusals import closed
from ameles.connectors.files.same_files import SameFiles
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource, SourceRequest, unnamed
from ameles.connectors.typed_columns import check_kinds
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable

# How far a file went when ends were taken; None: it was not there.
EndOf: TypeAlias = Callable[[Present], int | None]


class FileEnds(Mapping[str, int]):
    """The sizes of the files that a look saw, by their identities.

    They are needed only if the look that found them does not serve the reading, so they are
    written down only then.
    """

    def __init__(self, files: list[Present]) -> None:
        self.files = files

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file.key: file.status.st_size for file in self.files}

    def __getitem__(self, key: str) -> int:
        return self._sizes[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self.files)


class FileSource(SeekableSource[Mapping[str, int]]):
    """A path or a pattern of files; the ending of a name says how the file is written.

    Ends are sizes in bytes, by the identity of a file and not by its name: a file may be renamed
    before it is read.  Usually the reading follows at once, and goes by the look that found the
    ends; if something contradicts that look, there is another.
    """

    takes_format = False

    _pattern: str
    _base: Path
    _same: SameFiles  # which files were read before
    _seen: FileEnds | None = None  # the last ends, unless a reading has used their look

    @classmethod
    def files(cls, text: str, base: Path) -> tuple[NamedFile, ...]:
        return find_files(text, base)

    @classmethod
    def may_read(cls, text: str, base: Path, path: Path) -> bool:
        return names_file(text, base, path)

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        check_kinds(request.columns)
        return cls._opened(request)

    @classmethod
    @abstractmethod
    def _opened(cls, request: SourceRequest) -> Self:
        """Opens the source; its columns were checked."""

    def names(self) -> tuple[str, ...]:
        return settled(self._present, self._common_names)

    def ends(self) -> Mapping[str, int]:
        self._seen = ends = FileEnds(self._present())
        return ends

    def refuses_launch(self) -> AmelesError | None:
        # files of a pattern may come later, but a name without a file is most likely misspelt
        if not glob.has_magic(self._pattern) and (missing := self.missing()):
            return missing
        files = [file for file in self._present() if not file.copy]
        try:
            named = bool(self.names())
        except (PlanError, SourceUnreadable) as refusal:
            return refusal
        return unnamed(files[0].file.name, self.dialect) if files and not named else None

    def at_launch(self) -> str:
        if refusal := self.refuses_launch():
            raise refusal
        return self._same.unread(self.reading(None).position)

    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> Reading:
        last, self._seen = self._seen, None
        seen = last.files if last is not None and last is ends else None

        def read(files: list[Present]) -> Reading:
            if ends is None:
                return self._reading(files, position, None)
            # the sizes in the look that found the ends are the ends
            end_of = _size if files is seen else lambda file: ends.get(file.key)
            return self._reading(files, position, end_of)

        found = settled(self._present, read, seen)
        more = self._closed()
        return replace(found, problems=(*found.problems, *more)) if more else found

    def _closed(self) -> list[SourceUnreadable]:
        """A problem for each folder whose files cannot be found."""
        return [*map(closed, closed_folders(self._pattern, self._base))]

    def _present(self) -> list[Present]:
        """The files that exist now."""
        return self._looks.present(self._looks.lists.names(self._pattern))

    @cached_property
    def _looks(self) -> Looks:
        return Looks(self._base)

    def _common_names(self, files: list[Present]) -> tuple[str, ...]:
        """The columns that every file has; a file that cannot be read matters only if none can."""
        known: list[Sequence[str]] = []
        problems: list[AmelesError] = []
        with self._looking(files) as names_in:
            for file in files:
                try:
                    names = names_in(file)
                except (PlanError, SourceUnreadable) as problem:
                    problems.append(problem)
                else:
                    known += [] if names is None else [names]
        if problems and len(problems) == len(files):
            raise problems[0]
        if not known:
            return ()
        everywhere = set(known[0]).intersection(*known[1:])
        return tuple(name for name in known[0] if name in everywhere)

    @abstractmethod
    def _looking(
        self, files: list[Present]
    ) -> AbstractContextManager[Callable[[Present], Sequence[str] | None]]:
        """A function for the columns of each of these files; None if one is still to be
        written."""

    @abstractmethod
    def _reading(self, files: list[Present], position: str | None, end_of: EndOf | None) -> Reading:
        """What these files have after a position, up to the end of each if ends were taken."""

    def missing(self) -> AmelesError | None:
        if find_files(self._pattern, self._base):
            return None
        for problem in self._closed():
            return problem
        return PlanError(
            f"No file matches the source {self._pattern!r}.",
            why="a source is a path or pattern, relative to the folder of the plan",
            tip=f"put the file there, or before a launch change the source {self._pattern!r}",
        )


def _size(file: Present) -> int:
    return file.status.st_size
