"""Passes blocks of lines to DuckDB as relations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import duckdb

from ameles.connectors.duck import quiet
from ameles.connectors.reading import Piece
from ameles.connectors.text.dialect import LINES, VIEW, Dialect
from ameles.connectors.text.lines import NAMED, Tally, chunks, text
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


class LinesOfFile(Piece):
    """Lines of one file, a block at a time."""

    dialect: Dialect

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns of each line."""

    @abstractmethod
    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines; a file that changed meanwhile is refused after the last one."""

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        return handed_over(duck, self.dialect, self.names, self.blocks())


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
        line = 0  # of the block
        for first in range(0, len(prepared), SLOTS):
            some = [text(chunk) for chunk, _ in prepared[first : first + SLOTS]]
            with shown(duck, VIEW, some):
                if dialect.tally is not None:
                    numbers = [*accumulate((one.count("\n") for one in some), initial=line)]
                    line = numbers[-1]
                    _count_flaws(duck, dialect.flaws(names), dialect.tally, numbers)
                chunked = [chunk for chunk, _ in prepared]
                few = len(chunked) == 1 and chunked[0].count(b"\n") <= FEW
                kind = FewLines if few else SteadyRelation
                yield kind(dialect.steady_relation(names, chunked, slower))


def _count_flaws(
    duck: duckdb.DuckDBPyConnection,
    flaws: Mapping[str, str],
    tally: Tally,
    numbers: Sequence[int],
) -> None:
    """Counts the broken lines of the view, and finds the first of each kind.

    ``numbers`` has the number of the first line of each chunk in the block.
    """
    cases = " ".join(f"WHEN {holds} THEN {literal(name)}" for name, holds in flaws.items())
    lines = f"SELECT CASE {cases} END AS flaw FROM {LINES} WHERE line <> ''"
    with quiet("counting lines"):
        counts = duck.execute(f"SELECT flaw, count(*) FROM ({lines}) GROUP BY flaw").fetchall()
    found = {flaw: count for flaw, count in counts if flaw is not None}
    tally.flaws.update(found)
    if all(len(tally.places.get(flaw, ())) >= NAMED for flaw in found):
        return
    cut = "string_split(chunk, chr(10))"
    placed = (
        f"SELECT number, unnest({cut}) AS line, generate_subscripts({cut}, 1) AS place FROM {VIEW}"
    )
    broken = f"SELECT CASE {cases} END AS flaw, number, place FROM ({placed}) WHERE line <> ''"
    order = "ORDER BY number, place"
    with quiet("finding broken lines"):
        rows = duck.execute(
            f"SELECT flaw, number, place FROM ({broken}) WHERE flaw IS NOT NULL "
            f"QUALIFY row_number() OVER (PARTITION BY flaw {order}) <= {NAMED} {order}"
        ).fetchall()
    for flaw, number, place in rows:
        tally.found(flaw, tally.place(numbers[number] + place - 1))
