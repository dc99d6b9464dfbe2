"""What a mechanism is given changes between neighbours by no more than its recipe says.

Every question is asked of small tables with and without one row, or one user, and the numbers that
go into the run are compared: the truth before any noise.  Values are hostile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.core.guarantee import EVENT, USER, Norm
from ameles.measures.table_question import Amount
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.key_counts import KeyCounts
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray
from ameles.query import Query, Table, variance
from ameles.query.look import TableLook, looking
from ameles.query.row_set import BoundedRows
from tests.noise.sources import Stream
from tests.query.tables import truthful
from tests.recipe_checks import cached, caches

Row = tuple[Any, ...]
Given = list[dict[Any, int]]

COLUMNS = {"id": "integer", "x": "number", "n": "integer", "k": "text"}
HALVES = {"column": "x", "lower": "-1.5", "upper": 5, "granularity": "0.5"}
WHOLE = {"column": "n", "lower": -3, "upper": 4}
KEYS = {"k": ["a", "b"]}
NAMED = {"delta": "0.001"}
ENDS: dict[str, dict[str, Any]] = {
    "noisy_count": {},
    "noisy_count of parts": {"by": KEYS},
    "noisy_count of private parts": {"private_by": "k", **NAMED},
    "noisy_sum": HALVES,
    "noisy_sum of parts": {**WHOLE, "by": KEYS},
    "noisy_average": WHOLE,
    "noisy_variance": WHOLE,
    "noisy_variance of halves": HALVES,
    "noisy_median": WHOLE,
    "histogram": {"column": "x", "edges": [-2, 0, 1, 5], "other": True},
    "histogram of categories": {"column": "k", "categories": ["a", "b"], "other": True},
    "quantile": {"column": "n", "q": "0.5", "edges": [-2, 0, 2, 4]},
    "distinct_users": {},
    "top_k": {"k": 1, "by": KEYS},
    "most_common": {"column": "k", "keys": ["a", "b"]},
    "above_threshold": {"conditions": ["x > 1", "k = 'a'"], "threshold": 1},
    "private_keys": {"column": "k", **NAMED},
    "k_means": {"bounds": {"x": (-2, 5), "n": (-3, 3)}, "clusters": 2, "rounds": 2},
    "synthetic": {"keys": KEYS, "rows": 4, "ways": 1},
}
BASE: list[Row] = [(1, 0.5, 2, "a"), (2, -1.0, 0, "b"), (2, math.nan, None, "a")]
COMES: list[Row] = [
    (9, -math.inf, -(1 << 63), "a"),
    (9, 1e308, (1 << 63) - 1, "c"),
    (9, math.nan, None, None),
    (9, 5.0, 4, "b"),
    (9, -1.5, -3, "a"),
    (9, 5e-324, 1, ""),
]


class Watched:
    """A run that notes what it is given, and releases what another run released."""

    def __init__(self, recipe: AnyMechanism, released: list[Any] | None) -> None:
        self._run, self._again = recipe.start(Zero()), released
        self.given: list[Any] = []
        self.released: list[Any] = []

    def step(self, x: Any) -> Any:
        return self._noted(x, self._run.step)

    def feed(self, x: Any) -> Any:
        return self._noted(x, self._run.feed)

    def _noted(self, x: Any, asked: Any) -> Any:
        self.released.append(asked(x) if self._again is None else self._again[len(self.given)])
        self.given.append(x[1] if isinstance(x, tuple) else x)
        return self.released[-1]


@pytest.fixture(scope="module", name="connection")
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def made(connection: Any, rows: Sequence[Row], unit: dict[str, Any]) -> Query:
    connection.execute("CREATE OR REPLACE TABLE t (id BIGINT, x DOUBLE, n BIGINT, k VARCHAR)")
    if rows:
        marks = ", ".join(["(?, ?, ?, ?)"] * len(rows))
        connection.execute(
            f"INSERT INTO t VALUES {marks}", [value for row in rows for value in row]
        )
    given = {"unit": "user", "user": "id", **unit} if unit else {"unit": "row"}
    table = Table.from_duckdb(
        connection, "t", columns=COLUMNS, account=truthful(USER if unit else EVENT), **given
    )
    assert isinstance(table.relation, BoundedRows)
    return Query(replace(table.relation, salt="5a"), table.account)


class NotedKeys(TableLook):
    """A look that remembers in which order it gave the keys."""

    keys: tuple[str, ...] = ()

    @classmethod
    def like(cls, look: TableLook) -> NotedKeys:
        noted = object.__new__(cls)
        noted.__dict__.update(look.__dict__)
        return noted

    def rows_of_keys(self, column: str, *, joined: bool = False) -> tuple[list[str], IntArray]:
        return self._noted(super().rows_of_keys(column, joined=joined))

    def units_of_keys(self, column: str, *, joined: bool = False) -> tuple[list[str], IntArray]:
        return self._noted(super().units_of_keys(column, joined=joined))

    def _noted(self, counted: tuple[list[str], IntArray]) -> tuple[list[str], IntArray]:
        self.__dict__["keys"] = tuple(counted[0])
        return counted


def asked(query: Query, end: str, released: list[Any] | None) -> tuple[Any, Given, list[Any]]:
    """The recipe, the numbers that its run is given at each step, and what it released."""
    ending, loss = query._ending(end.partition(" ")[0], {"epsilon": 1, **ENDS[end]})
    ending.check(query.relation, query.account.unit)
    recipe = ending.recipe(query.relation, query.account.unit, loss)
    named = isinstance(recipe, KeyCounts | KeySelection)
    run: Any = Watched(recipe, None if named else released)
    with looking(query.relation) as look:
        noted = NotedKeys.like(look)
        rows = ending.answer(noted, recipe, run)
    assert named or len(rows) > 0
    vectors = [np.asarray(one).reshape(-1).tolist() for one in run.given]
    places = [noted.keys if named else range(len(one)) for one in vectors]
    given = [dict(zip(at, one, strict=True)) for at, one in zip(places, vectors, strict=True)]
    return recipe, given, run.released


def within(recipe: Any, before: Given, after: Given) -> bool:
    """Whether the difference of what the runs are given is one that the recipe allows."""
    changes = [
        [abs(one.get(at, 0) - other.get(at, 0)) for at in {**one, **other}]
        for one, other in zip(before, after, strict=True)
    ]
    if isinstance(recipe, LaplaceSeries):
        sums = map(sum, changes)
        return all(a <= b for a, b in zip(sums, recipe.sensitivities, strict=True))
    [moved] = changes
    contribution = recipe.guarantee.contribution
    if isinstance(recipe, KeySelection):
        return max(moved, default=0) <= 1 and sum(moved) <= recipe.max_groups
    most = max(moved, default=0) if contribution.norm is Norm.MAX else sum(moved)
    return int(most) <= int(contribution.bound)


def check(
    connection: Any, end: str, unit: dict[str, Any], one: list[Row], other: list[Row]
) -> bool:
    recipe, before, released = asked(made(connection, one, unit), end, None)
    _, after, _ = asked(made(connection, other, unit), end, released)
    return within(recipe, before, after)


@pytest.mark.parametrize("end", [end for end in ENDS if end != "distinct_users"])
def test_one_row(connection: duckdb.DuckDBPyConnection, end: str) -> None:
    for row in COMES[:4]:
        assert check(connection, end, {}, BASE, [*BASE, row])


@pytest.mark.parametrize("end", [end for end in ENDS if end != "synthetic"])
def test_one_user(connection: duckdb.DuckDBPyConnection, end: str) -> None:
    for unit in ({"max_rows": 1}, {"max_rows": 3, "max_groups": 2}):
        assert check(connection, end, unit, BASE, [*COMES, *BASE])
        assert check(connection, end, unit, [], COMES)


def test_a_value_that_is_not_centred_is_noticed(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the variance is the same wherever values are centred, but then one row adds more than it says
    monkeypatch.setattr(
        variance, "Amount", lambda value, times, less: Amount(value, times, less * 2 // 3)
    )
    one, other = BASE, [*BASE, COMES[3]]
    assert not check(connection, "noisy_variance of halves", {}, one, other)


@pytest.mark.parametrize("end", ENDS)
def test_no_cache_learns_from_a_table(connection: duckdb.DuckDBPyConnection, end: str) -> None:
    others = [(9, 5.0, 4, "a"), (8, -1.5, -3, "b"), (9, 5e-324, 1, "a"), (7, 4.0, 2, "a")] * 30
    recipe: Any = None
    for cache in caches().values():
        cache.cache_clear()
    for rows in (BASE, others):
        query = made(connection, rows, {} if end != "distinct_users" else {"max_rows": 1})
        ending, loss = query._ending(end.partition(" ")[0], {"epsilon": 1, **ENDS[end]})
        recipe = recipe or ending.recipe(query.relation, query.account.unit, loss)
        before = cached()
        with looking(query.relation) as look:
            # tails of noise have tables too: the stream has none
            ending.answer(look, recipe, recipe.start(System(entropy=Stream("a table"))))
        after = cached()
    assert [name for name in after if after[name] != before.get(name, 0)] == []
