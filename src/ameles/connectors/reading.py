"""A reading: the rows that a source has now, and the position to store once they are counted.

A reading is a tuple of pieces.  A piece is a value: it can be pickled, and another process that
sees the same files can read it.  The end of a piece is fixed when it is made, so it has the same
rows however often it is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import duckdb

from ameles.core.exceptions import AmelesError


class Piece(ABC):
    """Rows that can be read by themselves."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bytes it has."""

    @property
    def single(self) -> bool:
        """Whether it is a single scan, which is quick to repeat."""
        return False

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that DuckDB itself opens."""
        return ()

    def cut(self, size: int) -> tuple[Piece, ...]:
        """Pieces of about ``size`` bytes that have the same rows together, for other processes.

        They may be on other machines, which see the same files as other devices.
        """
        return (self,)

    @abstractmethod
    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """SQL relations for a FROM clause, with the plan's columns in their kinds.

        Each is valid until the next one is asked for, and can be read several times until then.
        """


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that a source lost before they were read, and that its owner goes on without."""

    place: str  # what lost them, such as a partition of a topic
    why: str  # as the owner said


@dataclass(frozen=True, slots=True, repr=False)
class Reading:
    """The rows that existed when it was made and had not been read before.

    ``problems`` has a refusal for each file that cannot be read now; the other files are read.
    """

    pieces: tuple[Piece, ...]
    position: str  # stored with the counts of these rows; the next reading begins there
    problems: tuple[AmelesError, ...] = ()
    gaps: tuple[Skipped, ...] = ()

    def __repr__(self) -> str:
        return "<Reading>"

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return sum(piece.size for piece in self.pieces)

    @property
    def single(self) -> bool:
        """Whether it is a single scan, which is quick to repeat."""
        return len(self.pieces) == 1 and self.pieces[0].single

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that DuckDB itself opens."""
        return tuple(path for piece in self.pieces for path in piece.paths)

    def cut(self, size: int) -> Reading:
        """The same rows in pieces of about ``size`` bytes, which several machines can share."""
        return replace(
            self, pieces=tuple(part for piece in self.pieces for part in piece.cut(size))
        )

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """The relations of all pieces; they can be read again from the start."""
        for piece in self.pieces:
            yield from piece.scans(duck)
