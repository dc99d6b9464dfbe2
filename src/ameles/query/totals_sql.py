"""SQL that adds up a question about a table, in one scan of its rows.

Work for each row is what takes long, so as little as possible is done there.  Rows are grouped by
their values, and the cell is looked up once for each different value.  Factors and constants are
applied to sums.  Sums are exact, so the order of these steps does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ameles.engine.gathering.event_sql import wrapped
from ameles.measures.bins import EXACT, Bins
from ameles.measures.fields import identifier
from ameles.measures.keys import Keys
from ameles.measures.table_question import Amount, TableColumns, TableQuestion

# Bins of integers: with more different values than this, the bin is computed for each row.
_MOST_VALUES = 1 << 16


def one_cell(rows: str, question: TableQuestion) -> str:
    """SQL: the totals of all rows that count."""
    sums = [
        f"coalesce(sum(CAST({amount.value} AS BIGINT)), 0)" if amount.times else "0"
        for amount in question.amounts
    ]
    totals = _totals(question.amounts, sums, "count(*)")
    return f"SELECT 0 AS cell, {totals} FROM ({rows}) WHERE {question.where}"


def one_count(rows: str, condition: str, amounts: Sequence[Amount]) -> str | None:
    """SQL: the totals of rows that meet a condition, if they depend only on their number.

    The rows are counted and not filtered: it takes half the time, unless whole parts of the table
    could be left out.
    """
    if any(amount.times for amount in amounts):
        return None
    count = f"count_if({condition})"
    return f"SELECT 0 AS cell, {_totals(amounts, ['0'] * len(amounts), count)} FROM ({rows})"


def by_values(
    rows: str, question: TableQuestion, columns: TableColumns, *, grouped: bool = True
) -> tuple[str, list[list[str]]] | None:
    """SQL: the cells with their totals, by way of the different values; None if there is no way.

    Its parameters are the declared keys; a thousand of them in SQL would take long to parse.
    Without ``grouped`` the cell is looked up for each row, which needs no memory for the values.
    """
    listed = _values(question.keys, columns)
    if listed is None:
        return None
    values, conditions = listed
    keys, summed = question.keys, [place for place, one in enumerate(question.amounts) if one.times]
    chosen = [f"{value} AS value_{place}" for place, value in enumerate(values)]
    added = {place: f"CAST({question.amounts[place].value} AS BIGINT)" for place in summed}
    if grouped:
        chosen += [f"sum({value}) AS amount_{place}" for place, value in added.items()]
        chosen.append("count(*) AS rows")
    else:
        chosen += [f"{value} AS amount_{place}" for place, value in added.items()]
        chosen.append("1 AS rows")
    where = " AND ".join(f"({one})" for one in (question.where, *conditions))
    groups = f"SELECT {', '.join(chosen)} FROM ({rows}) WHERE {where}"
    if grouped:
        groups += f" GROUP BY {', '.join(str(1 + place) for place in range(len(values)))}"
    sums = [
        f"coalesce(sum(amount_{place}), 0)" if place in summed else "0"
        for place in range(len(question.amounts))
    ]
    cell = keys.cell_of(
        [f"place_{place}" for place in range(len(keys.columns))],
        None if keys.bins is None else replace(keys.bins, column=f"value_{len(values) - 1}").code,
    )
    sql = (
        f"SELECT CAST({cell} AS BIGINT) AS cell, {_totals(question.amounts, sums, 'sum(rows)')} "
        f"FROM ({groups}){_places(keys)} GROUP BY 1"
    )
    return sql, [list(declared) for declared in keys.columns.values()]


def _values(keys: Keys, columns: TableColumns) -> tuple[list[str], list[str]] | None:
    """SQL: what rows are grouped by, and conditions that all rows in a cell meet."""
    values, conditions = [identifier(column) for column in keys.columns], []
    if keys.bins is not None:
        bounded = _bounded(keys.bins, columns)
        if bounded is None:
            return None
        value, inside = bounded
        if keys.other and not keys.bins.clamped:
            value = f"CASE WHEN {inside} THEN {value} END"
        else:
            conditions.append(inside)
        values.append(value)
    return (values, conditions) if values else None


def _bounded(bins: Bins, columns: TableColumns) -> tuple[str, str] | None:
    """SQL: an integer with the same bin, of which there are few; and whether it is in a bin.

    Integers are compared with edges as floating-point numbers, which are exact below 2**53.
    """
    first, last = (float(bins.edges[place]) for place in (0, -1))
    if columns.kinds.get(bins.column) != "integer" or max(-first, last) >= EXACT:
        return None
    low, high = math.floor(first), math.ceil(last)
    if high - low >= _MOST_VALUES:
        return None
    value = identifier(bins.column)
    if bins.clamped:
        return columns.clamped(value, low, high), f"{value} IS NOT NULL"
    return value, f"{value} >= {math.ceil(first)} AND {value} <= {math.floor(last)}"


def _places(keys: Keys) -> str:
    """SQL: joins the place of each value among the declared ones."""
    joined = []
    for place, declared in enumerate(keys.columns.values()):
        table = (
            f"(SELECT unnest(CAST(${1 + place} AS VARCHAR[])) AS text_{place}, "
            f"unnest(range({len(declared)})) AS place_{place})"
        )
        how = "LEFT JOIN" if keys.other else "JOIN"
        joined.append(f" {how} {table} ON text_{place} = CAST(value_{place} AS VARCHAR)")
    return "".join(joined)


def _totals(amounts: Sequence[Amount], sums: Sequence[str], count: str) -> str:
    """SQL: each total, from the sum of the values and the number of rows."""
    totals = []
    for place, (amount, total) in enumerate(zip(amounts, sums, strict=True)):
        parts = [
            f"CAST({number} AS HUGEINT) * {what}"
            for number, what in ((amount.times, total), (-amount.less, count))
            if number
        ]
        totals.append(f"{wrapped(' + '.join(parts))} AS amount_{place}")
    return ", ".join(totals)
