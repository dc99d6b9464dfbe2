"""Small tables to ask about, with and without noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any

import duckdb

from ameles.core.guarantee import EVENT, USER, Neighbours, Unit
from ameles.core.loss import Loss, Pure
from ameles.core.noise import Noise
from ameles.ledger import Ledger
from ameles.noise import Zero
from ameles.query import Query, Table
from ameles.query.look import looking

COLUMNS = "id INTEGER, household INTEGER, age INTEGER, region VARCHAR"
PEOPLE = [
    (1, 1, 34, "north"),
    (1, 1, 35, "south"),
    (1, 1, 36, "north"),
    (2, 1, 7, "north"),
    (3, 2, 61, "south"),
    (3, 2, 62, "south"),
    (4, 3, None, "east"),
    (5, 3, 90, None),
]


_NUMBERS = count(1)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for all tests: to open one takes longer than to ask."""
    return duckdb.connect()


def ledger(
    unit: Unit = EVENT,
    *,
    cap: Loss | None = None,
    noise: Noise | None = None,
    neighbours: Neighbours | None = None,
) -> Ledger:
    relation = Neighbours.ADD_REMOVE if unit == EVENT else Neighbours.USER_PRESENCE
    return Ledger(
        "people",
        cap=Pure(100) if cap is None else cap,
        unit=unit,
        neighbours=relation if neighbours is None else neighbours,
        noise=noise,
    )


AT_ONCE = 256


def truthful(unit: Unit = EVENT) -> Ledger:
    """A ledger whose answers are the truth."""
    return ledger(unit, noise=Zero())


def table(
    rows: Iterable[Sequence[Any]] = PEOPLE,
    *,
    account: Any = None,
    user: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    version: str | None = None,
    name: str = "visits",
) -> Table:
    connection, held = _connection(), f"rows_{next(_NUMBERS)}"
    connection.execute(f"CREATE TABLE {held} ({COLUMNS})")
    given = list(rows)
    for start in range(0, len(given), AT_ONCE):  # one by one they would take far longer
        some = given[start : start + AT_ONCE]
        places = ", ".join(["(?, ?, ?, ?)"] * len(some))
        values = [value for row in some for value in row]
        connection.execute(f"INSERT INTO {held} VALUES {places}", values)
    unit = EVENT if user is None else USER
    return Table.from_duckdb(
        connection,
        held,
        name=name,
        account=truthful(unit) if account is None else account,
        unit="row" if user is None else "user",
        user=user,
        max_rows=max_rows,
        max_groups=max_groups,
        version=version,
    )


def rows_of(query: Query) -> list[tuple[Any, ...]]:
    """The exact rows of a query, which nobody else may see."""
    with looking(query.relation) as look:
        duck = look.tables._duck
        return duck.execute(f"SELECT {query.relation.listed} FROM ({look.rows})").fetchall()
