"""A piece of a text file: the bytes to read now, as lines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ameles.connectors.compressed import Damaged, Incomplete
from ameles.connectors.dialect import Dialect
from ameles.connectors.encodings import Script
from ameles.connectors.file_identity import LOOKS, Present, born, changed, opened, present, vanished
from ameles.connectors.file_marks import Mark
from ameles.connectors.line_blocks import handed_over
from ameles.connectors.lines import blocks
from ameles.connectors.named_files import list_names
from ameles.connectors.reading import Piece
from ameles.connectors.rotated_copies import piece_of, unpacking
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

    def present(self) -> list[Present]:
        """The files that exist now, including copies."""
        rest = {file.name: file for file in list_names(self.pattern, self.base)}
        if not self.rotated:
            return present(rest.values())
        copies = {
            file.name: file for pattern in self.rotated for file in list_names(pattern, self.base)
        }
        files = present((copies | rest).values())
        for file in files:
            file.copy = not file.names.isdisjoint(copies)
        return files


@dataclass(frozen=True, slots=True, repr=False)
class TextPiece(Piece):
    """A segment of a file, as lines."""

    dialect: Dialect
    segment: Segment
    files: TextFiles

    def __repr__(self) -> str:
        return "<TextPiece>"

    @property
    def size(self) -> int:
        return self.segment.end - self.segment.start

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        segment = self.segment
        with self._opened() as handle, contextlib.ExitStack() as stack:
            source = _from_start(handle, segment)
            if segment.mark.rotated:  # the end of a file, from its copy
                stream = stack.enter_context(unpacking(handle, segment.file.file.name))
                source = piece_of(stream, segment.start, segment.end)
            lines = blocks(
                _up_to(source, segment),
                within=segment.within,
                script=segment.script,
                tally=self.dialect.tally,
            )
            yield from handed_over(duck, self.dialect, segment.names, lines)
            if not segment.mark.rotated and not segment.mark.fits(handle):
                raise changed(segment.file.file.name)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """Opens the file of the segment, under its new name if it was renamed since."""
        with contextlib.ExitStack() as stack:
            yield self._enter(stack)

    def _enter(self, stack: contextlib.ExitStack) -> int:
        wanted, files = self.segment.file.key, [self.segment.file]
        for _ in range(LOOKS):
            for file in files:
                if file.key == wanted:
                    with contextlib.suppress(AmelesError):  # renamed just now
                        handle = stack.enter_context(opened(file))
                        if born(handle) == self.segment.mark.born:
                            return handle
            files = self.files.present()
        raise vanished(self.segment.file.file.name)


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
