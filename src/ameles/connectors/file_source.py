"""Files as a source: what text, compressed and Parquet files have in common."""

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
    """A path or a pattern of files, whose ending tells how they are written.

    Their ends are sizes in bytes, by what a file is and not by its name, which it may lose before
    it is read.
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
        """The source, of columns that are right."""

    def missing(self) -> PlanError | None:
        if find_files(self._pattern, self._base):
            return None
        return PlanError(
            f"No file matches the source {self._pattern!r}.",
            why="a source is a path, or a pattern, from the folder of the plan",
            tip=f"the file in its place, or before a launch another source than {self._pattern!r}",
        )
