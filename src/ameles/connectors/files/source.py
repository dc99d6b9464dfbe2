"""Files as a source: the base of text, compressed and Parquet files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Self

from ameles.connectors.files.identity import Present, settled
from ameles.connectors.files.looks import Looks
from ameles.connectors.files.named_files import NamedFile, find_files, list_names, names_file
from ameles.connectors.files.same_files import SameFiles
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource, SourceRequest
from ameles.connectors.typed_columns import check_kinds
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable


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
    _seen: tuple[Mapping[str, int], list[Present]] | None = None  # the last ends, and their look

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
        files = self._present()
        ends = {file.key: file.status.st_size for file in files}
        self._seen = ends, files
        return ends

    def at_launch(self) -> str:
        if refusal := self.refuses_launch():
            raise refusal
        return self._same.unread(self.reading(None).position)

    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> Reading:
        last, self._seen = self._seen, None
        seen = last[1] if last is not None and last[0] is ends else None
        return settled(self._present, lambda files: self._reading(files, position, ends), seen)

    def _present(self) -> list[Present]:
        """The files that exist now."""
        return self._looks.present(list_names(self._pattern, self._base))

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
            return self._names_of_plan()
        everywhere = set(known[0]).intersection(*known[1:])
        return tuple(name for name in known[0] if name in everywhere)

    @abstractmethod
    def _looking(
        self, files: list[Present]
    ) -> AbstractContextManager[Callable[[Present], Sequence[str] | None]]:
        """A function for the columns of each of these files; None if one is still to be
        written."""

    def _names_of_plan(self) -> tuple[str, ...]:
        """The columns as far as the plan alone says."""
        return ()

    @abstractmethod
    def _reading(
        self, files: list[Present], position: str | None, ends: Mapping[str, int] | None
    ) -> Reading:
        """What these files have after a position."""

    def missing(self) -> PlanError | None:
        if find_files(self._pattern, self._base):
            return None
        return PlanError(
            f"No file matches the source {self._pattern!r}.",
            why="a source is a path or pattern, relative to the folder of the plan",
            tip=f"put the file there, or before a launch change the source {self._pattern!r}",
        )
