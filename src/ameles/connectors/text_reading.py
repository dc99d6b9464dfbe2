"""The bytes of text files that are read now, as lines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from ameles.connectors.compressed import Damaged, Incomplete
from ameles.connectors.dialect import Dialect
from ameles.connectors.encodings import Script
from ameles.connectors.file_identity import Present, born, changed, opened, vanished
from ameles.connectors.line_blocks import handed_over
from ameles.connectors.lines import blocks
from ameles.connectors.marks import Mark
from ameles.connectors.rotated_copies import piece_of, unpacking
from ameles.connectors.settled_files import LOOKS
from ameles.connectors.source import Reading
from ameles.core.exceptions import AmelesError


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of a file that are read now."""

    file: Present
    start: int
    mark: Mark  # how far, and what the file looks like there
    names: tuple[str, ...]
    within: bool  # it begins inside a line that was taken before
    end: int
    script: Script


class TextReading(Reading):
    """Segments of files, from where they were last taken to where they end now."""

    def __init__(
        self,
        dialect: Dialect,
        segments: list[Segment],
        position: str,
        files: Callable[[], list[Present]],
        problems: tuple[AmelesError, ...] = (),
    ) -> None:
        self._dialect = dialect
        self._segments = segments
        self._position = position
        self._files = files
        self._problems = problems

    @property
    def problems(self) -> tuple[AmelesError, ...]:
        """Files that cannot be read now, each with its fix."""
        return self._problems

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return sum(segment.end - segment.start for segment in self._segments)

    @property
    def position(self) -> str:
        """What to store with the rows' counts; the next reading begins there."""
        return self._position

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        for segment in self._segments:
            if segment.mark.rotated:
                yield from self._copied(duck, segment)
                continue
            with self._opened(segment) as handle:
                read, tally = _up_to(_from_start(handle, segment), segment), self._dialect.tally
                lines = blocks(read, within=segment.within, script=segment.script, tally=tally)
                yield from handed_over(duck, self._dialect, segment.names, lines)
                if not segment.mark.fits(handle):
                    raise changed(segment.file.file.name)

    def _copied(self, duck: duckdb.DuckDBPyConnection, segment: Segment) -> Iterator[str]:
        """The end of a file, from its copy."""
        name = segment.file.file.name
        with self._opened(segment) as handle, unpacking(handle, name) as stream:
            piece, tally = piece_of(stream, segment.start, segment.end), self._dialect.tally
            read = _up_to(piece, segment)
            lines = blocks(read, within=segment.within, script=segment.script, tally=tally)
            yield from handed_over(duck, self._dialect, segment.names, lines)

    @contextlib.contextmanager
    def _opened(self, segment: Segment) -> Iterator[int]:
        """The file of a segment, under another name if it was renamed since it was listed."""
        with contextlib.ExitStack() as stack:
            yield self._found(segment, stack)

    def _found(self, segment: Segment, stack: contextlib.ExitStack) -> int:
        wanted, files = key_of(segment.file.status), [segment.file]
        for _ in range(LOOKS):
            for file in files:
                if key_of(file.status) == wanted:
                    with contextlib.suppress(AmelesError):  # renamed just now
                        handle = stack.enter_context(opened(file))
                        if born(handle) == segment.mark.born:
                            return handle
            files = self._files()
        raise vanished(segment.file.file.name)


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
    """Reads a segment to its end, which must still be there."""
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


def key_of(status: os.stat_result) -> str:
    """What a file is, whatever its name, while a program runs."""
    return f"{status.st_dev}:{status.st_ino}"
