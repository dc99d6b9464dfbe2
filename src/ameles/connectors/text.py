"""Text files: they are read as bytes, cut at newlines, and split into fields by DuckDB."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.connectors.known import Known, readable
from ameles.connectors.lines import BYTE_ORDER_MARK, LONGEST, blocks, chunks, text
from ameles.connectors.marks import Mark, last_newline, replaced
from ameles.connectors.source import Found, Reading, Source, find_files

_VIEW = "ameles_text"
LINES = f"(SELECT unnest(string_split(chunk, chr(10))) AS line FROM {_VIEW})"


class Dialect(ABC):
    """How a line is an event."""

    header: bool  # the first line of a file names its columns

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns

    @abstractmethod
    def names(self, first: str) -> tuple[str, ...]:
        """The columns of a file, from its first line."""

    @abstractmethod
    def check(self, names: tuple[str, ...], file: str) -> None:
        """Refuse a file that lacks a column of the plan, or has it twice."""

    @abstractmethod
    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        """A chunk as ``relation`` expects it, and whether its lines need the slower way."""

    @abstractmethod
    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        """SQL: the plan's columns of each line of ``LINES`` that is an event."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of a file that are read now."""

    file: Found
    start: int
    mark: Mark  # how far, and what the file looks like there
    names: tuple[str, ...]
    within: bool  # it begins inside a line that was taken before


class TextSource(Source):
    """A file or files of lines, which may grow."""

    def __init__(self, pattern: str, base: Path, dialect: Dialect) -> None:
        self._pattern = pattern
        self._base = base
        self._dialect = dialect
        self._known = Known(base)

    def names(self) -> tuple[str, ...]:
        if not self._dialect.header:
            return tuple(self._dialect.columns)
        found = []
        for file in self._files():
            names, body = self._header(file)
            if body:  # else the file is still empty
                self._dialect.check(names, file.name)
                found.append(names)
        if not found:
            return tuple(self._dialect.columns)
        everywhere = set(found[0]).intersection(*found[1:])
        return tuple(name for name in found[0] if name in everywhere)

    def paths(self) -> tuple[str, ...]:
        return ()

    def ends(self) -> dict[str, int]:
        """By what a file is and not by its name, which it may lose before it is read."""
        found = {}
        for file in self._files():
            with contextlib.suppress(OSError):  # gone since it was listed
                status = os.stat(file.path)
                found[_identity(status)] = status.st_size
        return found

    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> TextReading:
        taken = self._known.taken(position)
        files = self._files()
        status = self._known.follow(files, taken)
        segments = []
        for file in files:
            end, live = status[file.name].st_size, ends is not None
            if ends is not None:
                end = min(end, ends.get(_identity(status[file.name]), 0))
            segment = self._segment(file, taken.get(file.name), end, whole=live)
            if segment is not None:
                segments.append(segment)
                taken[file.name] = segment.mark
        return TextReading(self._dialect, segments, self._known.position(taken))

    def _files(self) -> tuple[Found, ...]:
        return find_files(self._pattern, self._base)

    def _segment(self, file: Found, known: Mark | None, end: int, *, whole: bool) -> Segment | None:
        """What to read of a file, in whole lines if so; None if it has nothing new."""
        start = known.offset if known else 0
        if end <= start:
            return None
        with readable(file):
            if whole:
                end = last_newline(file.path, start, end)
            if end <= start:
                return None
            names, body = self._header(file)
            self._dialect.check(names, file.name)
            mark = Mark.of(file.path, file.name, end)
        if known is None:
            return Segment(file, body, mark, names, within=False)
        return Segment(file, known.offset, mark, names, within=known.within)

    def _header(self, file: Found) -> tuple[tuple[str, ...], int]:
        """A file's columns, and where its events begin."""
        with readable(file), file.path.open("rb") as opened:
            first = opened.readline(LONGEST + 1)
        mark = len(BYTE_ORDER_MARK) if first.startswith(BYTE_ORDER_MARK) else 0
        if not self._dialect.header:
            return tuple(self._dialect.columns), mark
        line = text(first[mark:]).rstrip("\r\n")
        sound = line and len(first) <= LONGEST
        return self._dialect.names(line) if sound else (), len(first)


class TextReading(Reading):
    """Segments of files, from where they were last taken to where they end now."""

    def __init__(self, dialect: Dialect, segments: list[Segment], position: str) -> None:
        self._dialect = dialect
        self._segments = segments
        self._position = position

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return sum(segment.mark.offset - segment.start for segment in self._segments)

    @property
    def position(self) -> str:
        """What to store with the rows' counts; the next reading begins there."""
        return self._position

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        for segment in self._segments:
            with readable(segment.file), FileIO(segment.file.path) as opened:
                opened.seek(segment.start)
                read = _up_to(opened, segment)
                lines = blocks(read, within=segment.within)
                yield from handed_over(duck, self._dialect, segment.names, lines)
                if not segment.mark.fits(segment.file.path):
                    raise replaced(segment.file.name)


def handed_over(
    duck: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    names: tuple[str, ...],
    lines: Iterable[bytes],
) -> Iterator[str]:
    """Blocks of lines as relations, one at a time; what follows a stream uses this too."""
    try:
        for block in lines:
            prepared = [dialect.prepared(chunk) for chunk in chunks(block)]
            if not prepared:
                continue
            held = np.empty(len(prepared), dtype=object)
            held[:] = [text(chunk) for chunk, _ in prepared]
            with quiet("reading lines"):
                duck.register(_VIEW, {"chunk": held})
            slower = any(needs for _, needs in prepared)
            yield dialect.relation(names, slower=slower)
    finally:
        with contextlib.suppress(duckdb.Error):  # the connection may be closed by now
            duck.unregister(_VIEW)


def _up_to(opened: FileIO, segment: Segment) -> Callable[[int], bytes]:
    left = segment.mark.offset - segment.start

    def read(size: int) -> bytes:
        nonlocal left
        if not left:
            return b""
        piece = opened.read(min(size, left))
        if not piece:
            raise replaced(segment.file.name)
        left -= len(piece)
        return piece

    return read


def _identity(status: os.stat_result) -> str:
    """What a file is, whatever its name."""
    return f"{status.st_dev}:{status.st_ino}"
