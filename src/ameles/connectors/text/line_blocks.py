"""Passes blocks of lines to DuckDB as relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import duckdb

from ameles.connectors.duck import quiet
from ameles.connectors.reading import Piece
from ameles.connectors.text.dialect import LINES, VIEW, Dialect
from ameles.connectors.text.lines import Tally, chunks, text
from ameles.connectors.text.view import FEW, SLOTS, FewLines, SteadyRelation, shown
from ameles.measures.fields import literal


@dataclass(frozen=True, slots=True, repr=False)
class LinesPiece(Piece):
    """Blocks of whole lines in memory."""

    dialect: Dialect
    names: tuple[str, ...]  # the columns of each line
    blocks: tuple[bytes, ...]

    def __repr__(self) -> str:
        return "<LinesPiece>"

    @property
    def size(self) -> int:
        return sum(len(block) for block in self.blocks)

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        return handed_over(duck, self.dialect, self.names, self.blocks)


def handed_over(
    duck: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    names: tuple[str, ...],
    lines: Iterable[bytes],
) -> Iterator[str]:
    """Blocks of lines as relations, one at a time."""
    for block in lines:
        prepared = [dialect.prepared(chunk) for chunk in chunks(block, dialect.tally)]
        slower = any(needs for _, needs in prepared)
        if dialect.tally is not None and prepared:
            dialect.tally.read += len(block)
        for first in range(0, len(prepared), SLOTS):
            some = [text(chunk) for chunk, _ in prepared[first : first + SLOTS]]
            with shown(duck, VIEW, some):
                if dialect.tally is not None:
                    _count_flaws(duck, dialect.flaws(names), dialect.tally)
                chunked = [chunk for chunk, _ in prepared]
                few = len(chunked) == 1 and chunked[0].count(b"\n") <= FEW
                kind = FewLines if few else SteadyRelation
                yield kind(dialect.steady_relation(names, chunked, slower))


def _count_flaws(duck: duckdb.DuckDBPyConnection, flaws: Mapping[str, str], tally: Tally) -> None:
    cases = " ".join(f"WHEN {holds} THEN {literal(name)}" for name, holds in flaws.items())
    lines = f"SELECT CASE {cases} END AS flaw FROM {LINES} WHERE line <> ''"
    with quiet("counting lines"):
        counts = duck.execute(f"SELECT flaw, count(*) FROM ({lines}) GROUP BY flaw").fetchall()
    tally.flaws.update({flaw: count for flaw, count in counts if flaw is not None})
