"""Files as a source: the base of text, compressed and Parquet files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from ameles.connectors.named_files import NamedFile, find_files, names_file
from ameles.connectors.source import SeekableSource, SourceRequest
from ameles.connectors.typed_columns import check_kinds
from ameles.core.exceptions import PlanError


class FileSource(SeekableSource[Mapping[str, int]]):
    """A path or a pattern of files; the ending of a name says how the file is written.

    Ends are sizes in bytes, by the identity of a file and not by its name: a file may be renamed
    before it is read.
    """

    takes_format = False

    _pattern: str
    _base: Path

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

    def missing(self) -> PlanError | None:
        if find_files(self._pattern, self._base):
            return None
        return PlanError(
            f"No file matches the source {self._pattern!r}.",
            why="a source is a path or pattern, relative to the folder of the plan",
            tip=f"put the file there, or before a launch change the source {self._pattern!r}",
        )
