"""A piece of a text file: the bytes to read now, as lines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from ameles.connectors.files.compressed import Damaged, Incomplete
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import (
    LOOKS,
    Present,
    born,
    changed,
    opened,
    vanished,
)
from ameles.connectors.files.looks import Looks
from ameles.connectors.files.rotated_copies import piece_of, unpacking
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.encodings import Script
from ameles.connectors.text.line_blocks import LinesOfFile
from ameles.connectors.text.lines import BLOCK, LONGEST, blocks
from ameles.core.exceptions import AmelesError


@dataclass(frozen=True, slots=True)
class Segment:
    """The bytes of a file to read now."""

    file: Present
    start: int
    mark: Mark  # its end, and the file's digests there
    names: tuple[str, ...]
    within: bool  # it begins inside a line whose start was read before
    end: int
    script: Script


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Where to look for the files of a source: its pattern, and the patterns of rotated copies."""

    pattern: str
    base: Path
    rotated: tuple[str, ...] = ()

    def present(self, looks: Looks | None = None) -> list[Present]:
        """The files that exist now, including copies; ``looks`` knows those that were there."""
        looks = looks or Looks(self.base)
        files = looks.lists.names(self.pattern)
        if not self.rotated:
            return looks.present(files)
        rest = {file.name: file for file in files}
        copies = {
            file.name: file for pattern in self.rotated for file in looks.lists.names(pattern)
        }
        there = looks.present((copies | rest).values())
        return [
            file if file.names.isdisjoint(copies) else replace(file, copy=True) for file in there
        ]


@dataclass(frozen=True, slots=True, repr=False)
class TextPiece(LinesOfFile):
    """A segment of a file, as lines."""

    dialect: Dialect
    segment: Segment
    files: TextFiles
    anywhere: bool = False  # it may be read on a machine where the file is on another device

    def __repr__(self) -> str:
        return "<TextPiece>"

    @property
    def size(self) -> int:
        return self.segment.end - self.segment.start

    def cut(self, size: int) -> tuple[TextPiece, ...]:
        segment = self.segment
        starts = [segment.start]
        if not segment.mark.rotated and self.size > size:  # a copy is read from its beginning
            with self._opened() as handle:
                starts += _line_starts(handle, segment, size)
        parts = [
            replace(segment, start=start, end=end, within=segment.within and start == starts[0])
            for start, end in pairwise([*starts, segment.end])
        ]
        return tuple(replace(self, segment=part, anywhere=True) for part in parts)

    @property
    def names(self) -> tuple[str, ...]:
        return self.segment.names

    def blocks(self) -> Iterator[bytes]:
        segment, tally = self.segment, self.dialect.tally
        with self._opened() as handle, contextlib.ExitStack() as stack:
            if tally is not None:
                tally.opened(segment.file.file.name, 1 + _lines_before(handle, segment))
            source = _from_start(handle, segment)
            if segment.mark.rotated:  # the end of a file, from its copy
                stream = stack.enter_context(unpacking(handle, segment.file.file.name))
                source = piece_of(stream, segment.start, segment.end)
            yield from blocks(
                _up_to(source, segment), within=segment.within, script=segment.script, tally=tally
            )
            if not segment.mark.rotated and not segment.mark.fits(handle):
                raise changed(segment.file.file.name)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """Opens the file of the segment, under its new name if it was renamed since."""
        with contextlib.ExitStack() as stack:
            yield self._enter(stack)

    def _enter(self, stack: contextlib.ExitStack) -> int:
        files = [self.segment.file]
        if self.anywhere:
            files = Looks(self.files.base).present(self.segment.file.links)
        for _ in range(LOOKS):
            for file in files:
                if self._is(file):
                    with contextlib.suppress(AmelesError):  # renamed just now
                        handle = stack.enter_context(opened(file))
                        if born(handle) == self.segment.mark.born:
                            return handle
            files = self.files.present()
        raise vanished(self.segment.file.file.name)

    def _is(self, file: Present) -> bool:
        """Whether this is the file, whatever its name; its digests are looked at later."""
        if self.anywhere:
            return file.status.st_ino == self.segment.file.status.st_ino
        return file.key == self.segment.file.key


def _line_starts(handle: int, segment: Segment, size: int) -> Iterator[int]:
    """Where lines of a segment begin, about ``size`` bytes apart."""
    script, place = segment.script, segment.start + segment.script.whole(size)
    while place < segment.end:
        after = script.after_first_newline(os.pread(handle, LONGEST, place))
        if not after:  # inside a line that is too long, or the last one
            place += script.whole(LONGEST)
            continue
        if place + after >= segment.end:
            return
        yield place + after
        place += after + script.whole(size)


def _lines_before(handle: int, segment: Segment) -> int:
    """How many lines end before a segment; 0 if only a copy has them."""
    count = place = 0
    while not segment.mark.rotated and place < segment.start:
        size = segment.script.whole(min(BLOCK, segment.start - place))
        piece = os.pread(handle, size or segment.start - place, place)
        if not piece:
            break
        count += segment.script.utf8(piece).count(b"\n")
        place += len(piece)
    return count


def _from_start(handle: int, segment: Segment) -> Callable[[int], bytes]:
    """Reads an open file, from where a segment begins."""
    place = segment.start

    def read(size: int) -> bytes:
        nonlocal place
        piece = os.pread(handle, size, place)
        place += len(piece)
        return piece

    return read


def _up_to(source: Callable[[int], bytes], segment: Segment) -> Callable[[int], bytes]:
    """Reads a segment to its end; refuses a file that became shorter."""
    left = segment.end - segment.start

    def read(size: int) -> bytes:
        nonlocal left
        if not left:
            return b""
        piece = b""
        with contextlib.suppress(Incomplete, Damaged):
            piece = source(min(size, left))
        if not piece:
            raise changed(segment.file.file.name)
        left -= len(piece)
        return piece

    return read
