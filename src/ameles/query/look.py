"""Reads exact vectors from the data, only for mechanisms.

The vectors are secret.  They go from DuckDB straight into a run that was paid for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from ameles.connectors.duck import connect, quiet
from ameles.connectors.user_ids import sound
from ameles.engine.gathering.event_sql import wrapped
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier
from ameles.measures.keys import no_key
from ameles.measures.table_question import TableColumns, TableQuestion
from ameles.noise.arrays import IntArray
from ameles.query.row_set import Attached, RowSet, fair_values
from ameles.query.row_source import MEMORY, ZONE, RowsNow, RowSource
from ameles.query.totals_sql import by_values, one_cell, one_count


@dataclass(frozen=True, repr=False)
class TableLook:
    """The rows of a relation, on an open connection."""

    relation: RowSet
    rows: str  # SQL: a SELECT
    attached: Attached

    def __repr__(self) -> str:
        return "<TableLook>"

    @property
    def columns(self) -> TableColumns:
        """Its columns, as measures ask about them."""
        coded = all(one.coded for one in self.relation.read)
        return TableColumns(self.relation.columns, coded)

    @property
    def tables(self) -> TemporaryTables:
        """Its connection."""
        return self.attached.tables

    def copied(self, columns: Sequence[str]) -> TableLook:
        """The same rows with these columns only, for several questions: copied, so read once."""
        names = ", ".join(identifier(column) for column in columns)
        copy = self.tables.create("rows", f"SELECT {names} FROM ({self.rows})")
        return replace(self, rows=f"SELECT {names} FROM {copy}")

    def totals(
        self, cell: str, amounts: Sequence[str], cells: int, *, where: str = "true"
    ) -> IntArray:
        """The sum of each amount in each cell: first all cells of the first amount."""
        sums = [f"{_sum(text, i)} AS amount_{i}" for i, text in enumerate(amounts)]
        chosen = [f"CAST({cell} AS BIGINT) AS cell"]
        chosen += [f"CAST({text} AS BIGINT) AS amount_{i}" for i, text in enumerate(amounts)]
        # One cell needs no groups: a plain count of a file is then in its footer.  With several
        # cells the group of NULL is dropped here: a filter would compute every cell twice.
        one = cells == 1
        return self._vector(
            f"SELECT {'0 AS cell' if one else 'cell'}, {', '.join(sums)} FROM (SELECT "
            f"{', '.join(chosen)} FROM ({self.rows}) WHERE {where}) "
            + ("WHERE cell IS NOT NULL" if one else "GROUP BY cell"),
            len(amounts),
            cells,
        )

    def totals_of(self, question: TableQuestion) -> IntArray:
        """The same for a measure's question."""
        keys, amounts = question.keys, question.amounts
        if not keys.values:
            return self._vector(self._one_cell(question), len(amounts), 1)
        grouped = by_values(self.rows, question, self.columns)
        if grouped is None:
            each = [amount.of_each_row for amount in amounts]
            return self.totals(keys.cell, each, keys.size, where=question.where)
        try:
            return self._vector(grouped[0], len(amounts), keys.size, grouped[1])
        except duckdb.OutOfMemoryException:  # too many different values
            each_row = by_values(self.rows, question, self.columns, grouped=False) or grouped
            return self._vector(each_row[0], len(amounts), keys.size, each_row[1])

    def _one_cell(self, question: TableQuestion) -> str:
        flagged = self.relation.flagged(self.attached) if question.where == "true" else None
        counted = flagged and one_count(*flagged, question.amounts)
        return counted or one_cell(self.rows, question)

    def _vector(
        self, sql: str, amounts: int, cells: int, parameters: Sequence[object] = ()
    ) -> IntArray:
        cells_and_amounts = self.tables.fetched(sql, parameters)
        vector = np.zeros((amounts, cells), dtype=np.int64)
        at, known = _placed(cells_and_amounts["cell"], cells)
        for i, row in enumerate(vector):
            row[at] = np.ma.getdata(cells_and_amounts[f"amount_{i}"])[known].astype(np.int64)
        return vector.reshape(-1)

    def users(self, cell: str, cells: int) -> IntArray:
        """How many users each cell has; a user is in one cell, and has the same chance for each."""
        who = identifier(self.relation.user or "")
        placed = f"SELECT {who} AS who, CAST({cell} AS BIGINT) AS cell FROM ({self.rows})"
        pairs = f"SELECT DISTINCT * FROM ({placed}) WHERE cell IS NOT NULL AND who IS NOT NULL"
        one = fair_values(pairs, "who", ["cell"], 1, self.relation.sources[0].salt, "cell")
        users_of_cells = self.tables.fetched(
            f"SELECT cell, count(*) AS users FROM {one} GROUP BY cell"
        )
        vector = np.zeros(cells, dtype=np.int64)
        at, known = _placed(users_of_cells["cell"], cells)
        vector[at] = np.ma.getdata(users_of_cells["users"])[known].astype(np.int64)
        return vector

    def rows_of_keys(self, column: str, *, joined: bool = False) -> tuple[list[str], IntArray]:
        """The values of a column that can be keys, as texts, and how many rows have each."""
        key = f"CAST({identifier(column)} AS VARCHAR)"
        counted = f"SELECT {key} AS key, count(*) AS units FROM ({self.rows}) GROUP BY 1"
        return self._keys(f"SELECT key, units FROM ({counted}) WHERE {_is_key(joined=joined)}")

    def units_of_keys(self, column: str, *, joined: bool = False) -> tuple[list[str], IntArray]:
        """The values of a column that can be keys, as texts, and how many units have each.

        A user counts for ``max_groups`` of the keys that the user's rows have; each of them has the
        same chance.
        """
        if self.relation.user is None:
            return self.rows_of_keys(column, joined=joined)
        bounded, who = self.relation.sources[0], identifier(self.relation.user)
        key = f"CAST({identifier(column)} AS VARCHAR)"
        pairs = (
            f"SELECT DISTINCT * FROM (SELECT {key} AS key, {who} AS who FROM ({self.rows})) "
            f"WHERE who IS NOT NULL AND {_is_key(joined=joined)}"
        )
        kept = fair_values(pairs, "who", ["key"], bounded.unit.max_groups, bounded.salt, "keys")
        return self._keys(f"SELECT key, count(*) AS units FROM {kept} GROUP BY 1")

    def _keys(self, sql: str) -> tuple[list[str], IntArray]:
        counted = self.tables.fetched(sql)
        keys = [str(one) for one in counted["key"]]
        return keys, np.ma.getdata(counted["units"]).astype(np.int64)


def _placed(found: Any, cells: int) -> tuple[IntArray, Any]:
    """The cells that a question has, of those that were found, and which of them these are.

    All others count nowhere: an error about one of them would tell a value.
    """
    known = ~np.ma.getmaskarray(found)
    at = np.ma.getdata(found).astype(np.int64)
    known &= (at >= 0) & (at < cells)
    return at[known], known


def _is_key(*, joined: bool) -> str:
    """SQL: whether the text in ``key`` can be one, by the rules of streams."""
    return f"(NOT ({no_key('key', joined=joined)}) AND {sound('key')})"


@contextmanager
def looking(
    relation: RowSet, rows_of: Callable[[RowSource], RowsNow] = lambda one: one.rows_now()
) -> Iterator[TableLook]:
    """Attaches the sources of a relation to one connection.

    Rows that may differ from one reading to the next are copied first, so that all statements of a
    question see the same.  Rows without users that the relation has once are not: nothing is
    looked up in them before, so each question reads them in one statement.
    """
    times = Counter(id(one) for one in relation.read)
    sources = list({id(one): one for one in relation.read}.values())
    plain = all(one.unit.user is None for one in relation.sources)
    once = [plain and times[id(one)] == 1 for one in sources]
    with ExitStack() as stack:
        stack.enter_context(quiet("reading a table"))
        rows = [rows_of(one) for one in sources]
        paths = tuple(path for one in rows for path in one.paths)
        duck = stack.enter_context(
            sources[0].connected(paths, once=once[0])
            if len(sources) == 1
            else closing(connect(zone=ZONE, memory=MEMORY, readable=paths))
        )
        tables = stack.enter_context(TemporaryTables(duck))
        relations = {}
        for one, now, only in zip(sources, rows, once, strict=True):
            held = stack.enter_context(now.attached(tables, duck))
            if not (only or now.still):
                held = tables.create("rows", f"SELECT {one.names} FROM {held}")
            relations[id(one)] = held
        attached = Attached(duck, tables, relations)
        yield TableLook(relation, relation.sql(attached), attached)


def looking_for_keys(relation: RowSet) -> AbstractContextManager[TableLook]:
    """The same for a question by keys: in its rows a text with broken characters is missing."""
    return looking(relation, lambda one: one.rows_for_keys())


def _sum(text: str, place: int) -> str:
    """SQL: the sum of an amount; a constant is multiplied by the number of rows instead."""
    if text == "1":
        return "count(*)"
    if text.isdecimal():
        return wrapped(f"CAST(count(*) AS HUGEINT) * {text}")
    return wrapped(f"coalesce(sum(amount_{place}), 0)")
