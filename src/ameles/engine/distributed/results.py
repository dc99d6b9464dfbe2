"""What goes between the tasks of a reading, and what comes back from them.

A task may be tried again, or run twice at the same time.  Only the results that the engine gets
count, and each names the pieces whose rows are in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ameles.connectors.reading import Piece
from ameles.engine.distributed.manifest import BucketFiles
from ameles.engine.gathering.pending import Totals

# A piece and its number in the reading.
NumberedPiece: TypeAlias = tuple[int, Piece]


@dataclass(frozen=True, slots=True)
class PieceTotals:
    """Exact totals of the events in some pieces of a reading; secret."""

    pieces: tuple[int, ...]
    totals: dict[str, Totals]

    def __repr__(self) -> str:
        return "<PieceTotals>"


@dataclass(frozen=True, slots=True)
class Shard:
    """The rows of one piece that belong to one bucket of users; secret.

    Each piece has a shard for each bucket, also if it has no rows there.  ``rows`` are arrays, as
    ``pack`` writes them; users in them are keyed hashes.
    """

    bucket: int
    piece: int
    rows: bytes

    def __repr__(self) -> str:
        return "<Shard>"


@dataclass(frozen=True, slots=True)
class BucketResult:
    """What a task has made of one bucket of users: exact totals, and the files that are valid now.

    ``pieces`` are those whose shards it got.
    """

    bucket: int
    pieces: tuple[int, ...]
    totals: dict[str, Totals]
    files: BucketFiles = field(default_factory=BucketFiles)

    def __repr__(self) -> str:
        return "<BucketResult>"
