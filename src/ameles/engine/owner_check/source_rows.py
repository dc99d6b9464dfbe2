"""The rows of a source as a run would read them; for standard input, the rows of a sample file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import duckdb

from ameles.connectors.reading import Piece, Reading
from ameles.connectors.source import Source
from ameles.connectors.standard_input import StandardInput
from ameles.connectors.text.line_blocks import LinesOfFile, handed_over
from ameles.connectors.text.lines import BLOCK, LinePlace, Tally
from ameles.core.exceptions import AmelesError, SourceUnreadable


class SourceRows:
    """The rows of the source that a plan names; ``source`` also gives each value as text."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.tally = Tally()
        self._source = source
        self._reading = replace(reading, pieces=tuple(_joined(reading.pieces)))

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return self._reading.size

    @property
    def problems(self) -> tuple[AmelesError, ...]:
        """A refusal with its fix for each file that a run would leave out."""
        return self._reading.problems

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The names of compressed files that somebody may still be writing."""
        return self._source.incomplete()

    @property
    def held(self) -> bool:
        """Whether to keep parsed rows in memory: blocks of lines are small and slow to parse,
        Parquet is neither."""
        return self._source.dialect is not None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that DuckDB itself opens."""
        return self._reading.paths

    def scans(self, duck: duckdb.DuckDBPyConnection, *, first: bool) -> Iterator[str]:
        """Relations, one after the other; lines are counted the first time."""
        if self._source.dialect is not None:
            self._source.dialect.tally = self.tally if first else None
        return self._reading.scans(duck)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same rows in fewer pieces: files with the same columns are looked at together, because
    each look takes longer than reading a small file."""
    for names, some in groupby(
        pieces, lambda piece: piece.names if isinstance(piece, LinesOfFile) else None
    ):
        if names is None:
            yield from some
        else:
            yield _Joined(tuple(piece for piece in some if isinstance(piece, LinesOfFile)))


@dataclass(frozen=True, slots=True, repr=False)
class _Joined(Piece):
    """Lines of several files with the same columns."""

    files: tuple[LinesOfFile, ...]

    def __repr__(self) -> str:
        return "<_Joined>"

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        first = self.files[0]
        return handed_over(duck, first.dialect, first.names, self._blocks(first.dialect.tally))

    def _blocks(self, tally: Tally | None) -> Iterator[bytes]:
        """Blocks of at most two blocks of a file."""
        held: list[bytes] = []
        starts: list[tuple[int, LinePlace]] = []
        size = lines = 0
        for file in self.files:
            for block in file.blocks():
                held.append(block)
                size += len(block)
                if tally is not None:
                    starts.append((lines, tally.starts[0][1]))
                    lines += block.count(b"\n")
                if size < BLOCK:
                    continue
                if tally is not None:
                    tally.starts = starts
                yield b"".join(held)
                held, starts, size, lines = [], [], 0, 0
        if held:
            if tally is not None:
                tally.starts = starts
            yield b"".join(held)


class SampleRows:
    """The rows of a sample file, which replaces standard input."""

    held = True
    paths: tuple[str, ...] = ()
    problems: tuple[AmelesError, ...] = ()
    incomplete: tuple[str, ...] = ()

    def __init__(self, sample: Path, opened: Callable[[int], StandardInput]) -> None:
        self.tally = Tally()
        self._sample = sample
        self._opened = opened
        with self._descriptor() as descriptor:
            self.size = os.fstat(descriptor.number).st_size

    def scans(self, duck: duckdb.DuckDBPyConnection, *, first: bool) -> Iterator[str]:
        """Relations, one after the other; lines are counted the first time."""
        with self._descriptor() as descriptor:
            source = self._opened(descriptor.number)
            source.dialect.raw = True
            source.dialect.tally = self.tally if first else None
            self.tally.opened(self._sample.name, 1)
            for block in source.incoming():
                yield from source.reading([block]).scans(duck)

    def _descriptor(self) -> _Descriptor:
        return _Descriptor(self._sample)


class _Descriptor:
    """An open file as a descriptor, like standard input."""

    def __init__(self, path: Path) -> None:
        try:
            self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            failed = True
        else:
            failed = False
        if failed:
            raise SourceUnreadable(
                f"The sample '{path}' cannot be read.",
                why="it does not exist, or its permissions do not allow it",
                tip="--sample FILE, with some lines as they will come on standard input",
            )

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)
