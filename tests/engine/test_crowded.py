"""Counting crowds first keeps exactly what putting everybody in order keeps."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ameles.core.guarantee import USER
from ameles.engine.gathering import crowded
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.crowded import hold_without_crowds, without_crowds
from ameles.engine.gathering.event_sql import foremost
from ameles.engine.gathering.temporary_tables import TemporaryTables

# 500 events of 30 users in 4 steps; most have more than the smaller bounds allow
EVENTS = (
    "SELECT n % 4 + 1 AS step, 'u' || (n * n % 30) AS who, hash(n, 'place') AS place, "
    "hash(n * n % 30) AS part, n AS cell FROM range(500) AS events(n)"
)
COLUMNS = "step, who, place, part, cell"


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def kept(duck: duckdb.DuckDBPyConnection, per_step: int) -> list[tuple[int, ...]]:
    with TemporaryTables(duck) as tables:
        kept = without_crowds(tables, EVENTS, bounds_of(per_step))
        return sorted(duck.execute(kept).fetchall())


def bounds_of(per_step: int) -> ContributionBounds:
    return ContributionBounds(
        unit=USER, per_step=per_step, max_steps=1, lifetime=None, answers=("cell",), marks=()
    )


def held(
    duck: duckdb.DuckDBPyConnection, per_step: int, needed: str = "true"
) -> list[tuple[int | None, ...]]:
    with TemporaryTables(duck) as tables:
        columns = "step BIGINT, who VARCHAR, place UBIGINT, part UBIGINT, cell BIGINT"
        fresh = tables.create_empty("fresh", columns)
        hold_without_crowds(tables, fresh, EVENTS, bounds_of(per_step), needed=needed)
        return duck.execute(f"SELECT {COLUMNS} FROM {fresh} ORDER BY ALL").fetchall()


@pytest.mark.parametrize("hashes", [1, 7, 1 << 32])  # one crowd, several, hardly any
@pytest.mark.parametrize("per_step", [1, 3, 20, 1000])
def test_as_if_all_were_put_in_order(
    duck: duckdb.DuckDBPyConnection,
    hashes: int,
    per_step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowded, "_HASHES", hashes)
    plain = f"SELECT {COLUMNS} FROM ({EVENTS}) {foremost('who', per_step, ['cell'])}"
    expected = sorted(duck.execute(plain).fetchall())
    assert kept(duck, per_step) == held(duck, per_step) == expected
    # Without most places the same events are kept, and the places that are needed are there.
    some = held(duck, per_step, "step > 3")
    assert sorted((step, who, cell) for step, who, _, _, cell in some) == sorted(
        (step, who, cell) for step, who, _, _, cell in expected
    )
    assert [row for row in some if row[0] == 4] == [row for row in expected if row[0] == 4]


def test_a_crowd_that_is_not_put_in_order_is_seen(
    duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = kept(duck, 3)
    monkeypatch.setattr(crowded, "foremost", lambda user, per_step, answers: "")
    assert len(kept(duck, 3)) == len(held(duck, 3)) == 500 > len(sound)
