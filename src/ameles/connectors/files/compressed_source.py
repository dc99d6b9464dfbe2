"""Compressed text files: whole files that never change, decompressed in blocks as they are read.

A file counts when it is complete: it is decompressed to its end before any of its events is taken.
So a file that is still being written waits, and a damaged file is reported.  A complete file gets
no more lines, so its last line needs no newline.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Self

from ameles.connectors.declarations import NOTHING, Declarations, Declared
from ameles.connectors.files.compressed import Damaged, Incomplete, is_compressed, unpacked
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present, Signature, changed, opened
from ameles.connectors.files.matching import match
from ameles.connectors.files.same_files import SameFiles
from ameles.connectors.files.source import EndOf, FileSource
from ameles.connectors.format import kind_of
from ameles.connectors.reading import Reading
from ameles.connectors.source import SourceRequest
from ameles.connectors.text.dialect import Dialect, Start, check_start, start_of
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.line_blocks import LinesOfFile
from ameles.connectors.text.lines import BLOCK, blocks
from ameles.core.exceptions import PlanError, SourceUnreadable


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A complete file that is read now."""

    file: Present
    start: Start
    mark: Mark
    size: int  # decompressed


class CompressedSource(FileSource):
    """A compressed file or files; a new file brings new events."""

    @classmethod
    def claims(cls, text: str) -> bool:
        return kind_of(text) in DIALECTS and is_compressed(text)

    @classmethod
    def _opened(cls, request: SourceRequest) -> Self:
        kind = DIALECTS[kind_of(request.text) or "csv"]
        dialect = kind(request.columns, request.form, raw=request.raw)
        return cls(request.text, request.base, dialect, request.declarations)

    def __init__(
        self,
        pattern: str,
        base: Path,
        dialect: Dialect,
        declarations: Declarations = NOTHING,
    ) -> None:
        self._pattern = pattern
        self._base = base
        self._dialect = dialect
        self._same = SameFiles("compressed", declarations, fits=_fits)
        self._sizes: dict[Signature, int | None] = {}

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    def names(self) -> tuple[str, ...]:
        return super().names() if self._dialect.header else self._dialect.names("")

    def _looking(
        self, files: list[Present]
    ) -> AbstractContextManager[Callable[[Present], Sequence[str] | None]]:
        return nullcontext(self._names_in)

    def _names_in(self, file: Present) -> Sequence[str] | None:
        with opened(file) as handle:
            start = self._start(file, handle)
        if start is None or not (start.whole or start.body):
            return None
        check_start(self._dialect, start, file.file.name)
        return start.names

    def _reading(self, files: list[Present], position: str | None, end_of: EndOf | None) -> Reading:
        matched = match(self._same, files, position)
        fresh, problems = [], list(matched.problems)
        for place, file in matched.open:
            known = matched.marks[place]
            if known is not None and not known.unread:
                continue
            try:
                whole = self._fresh(file, matched.declared(file, known), end_of)
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
                continue
            if whole is not None:
                fresh.append(whole)
                matched.marks[place] = whole.mark
        pieces = tuple(CompressedPiece(self._dialect, whole) for whole in fresh)
        return Reading(pieces, self._same.position(matched.taken()), tuple(problems))

    def _fresh(self, file: Present, declared: Declared, end_of: EndOf | None) -> WholeFile | None:
        """A file to read now; None if it is not complete, or if it appeared or grew since the ends
        were taken."""
        if end_of is not None and end_of(file) != file.status.st_size:
            return None
        with opened(file) as handle:
            size = self._size(file, handle)
            start = None if size is None else self._start(file, handle)
            if size is None or start is None:
                return None
            check_start(self._dialect, start, file.file.name)
            mark = Mark.of(handle, file.file.name, file.status.st_size, declared)
        return WholeFile(file, start, replace(mark, within=False), size)

    def incomplete(self) -> tuple[str, ...]:
        files = self._present()
        return tuple(file.file.name for file in files if self._sizes.get(file.signature, 0) is None)

    def _size(self, file: Present, handle: int) -> int | None:
        """The decompressed size of a file; None if it is not complete."""
        if file.signature not in self._sizes:
            self._sizes[file.signature] = _unpacked_size(file, handle)
        return self._sizes[file.signature]

    def _start(self, file: Present, handle: int) -> Start | None:
        """What the first bytes of a file say; None if it does not have them yet."""
        name, head = file.file.name, b""
        with _contents(handle, name) as stream:

            def head_of(size: int) -> bytes:
                nonlocal head
                head += stream.read(size - len(head))
                return head

            try:
                return start_of(self._dialect, head_of, name)
            except Incomplete:
                return None
            except Damaged:
                pass
        raise damaged(name)


@dataclass(frozen=True, slots=True, repr=False)
class CompressedPiece(LinesOfFile):
    """A complete file that is new."""

    dialect: Dialect
    whole: WholeFile

    def __repr__(self) -> str:
        return "<CompressedPiece>"

    @property
    def size(self) -> int:
        """The decompressed size in bytes."""
        return self.whole.size

    @property
    def names(self) -> tuple[str, ...]:
        return self.whole.start.names

    def blocks(self) -> Iterator[bytes]:
        name, start, tally = self.whole.file.file.name, self.whole.start, self.dialect.tally
        if tally is not None:
            tally.opened(name, 2 if self.dialect.header else 1)
        with opened(self.whole.file) as handle, _contents(handle, name) as stream:
            try:
                stream.read(start.body)
                yield from blocks(stream.read, script=start.script, tally=tally)
                same = _fits(self.whole.mark, handle)
            except (Incomplete, Damaged):
                same = False
        if not same:
            raise changed(name)


@contextmanager
def _contents(handle: int, name: str) -> Iterator[BinaryIO]:
    """The decompressed content of an open file, from its start."""
    os.lseek(handle, 0, os.SEEK_SET)
    with unpacked(os.fdopen(os.dup(handle), "rb"), name) as stream:
        yield stream


def _unpacked_size(file: Present, handle: int) -> int | None:
    size = 0
    with _contents(handle, file.file.name) as stream:
        try:
            while piece := stream.read(BLOCK):
                size += len(piece)
        except Incomplete:
            return None
        except Damaged:
            size = -1
    if size < 0:
        raise damaged(file.file.name)
    return size


def _fits(mark: Mark, handle: int) -> bool:
    """Whether an open file is the whole file that was taken."""
    return os.fstat(handle).st_size == mark.offset and mark.fits(handle)


def damaged(name: str) -> SourceUnreadable:
    """The error for a file whose content is not what its ending says."""
    return SourceUnreadable(
        f"The file '{name}' cannot be unpacked.",
        why="it is damaged, or it is not what its ending says; nothing of it was counted",
        tip="make the file again, and move it to its place when it is complete",
    )
