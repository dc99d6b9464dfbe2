"""Counting crowds first keeps exactly what putting everybody in order keeps."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ameles.core.guarantee import USER
from ameles.engine.gathering import crowded
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.crowded import Choice
from ameles.engine.gathering.temporary_tables import TemporaryTables

# 500 events of 30 users in 4 steps, many of them equal; most users exceed the smaller bounds
EVENTS = (
    "SELECT n % 4 + 1 AS step, 'u' || (n * n % 30) AS key, hash(n * n % 30) AS part, "
    "n % 9 AS cell, CASE WHEN n % 5 > 0 THEN 'w' || n % 5 END AS word FROM range(500) AS events(n)"
)
COLUMNS = "step, key, part, cell, word"


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def choice_of(tables: TemporaryTables, per_step: int) -> Choice:
    bounds = ContributionBounds(
        unit=USER,
        per_step=per_step,
        max_steps=1,
        lifetime=None,
        answers=("cell", "word"),
        marks=(),
        words=("word",),
    )
    return Choice(tables, bounds, b"a salt", hashed=False)


def kept(duck: duckdb.DuckDBPyConnection, per_step: int) -> list[tuple[object, ...]]:
    with TemporaryTables(duck) as tables:
        kept = choice_of(tables, per_step).kept(EVENTS)
        return duck.execute(f"SELECT {COLUMNS} FROM ({kept}) ORDER BY ALL").fetchall()


def held(
    duck: duckdb.DuckDBPyConnection, per_step: int, where: str = "true"
) -> list[tuple[object, ...]]:
    with TemporaryTables(duck) as tables:
        table = tables.create("held", EVENTS)
        choice_of(tables, per_step).keep(table, where)
        return duck.execute(f"SELECT {COLUMNS} FROM {table} ORDER BY ALL").fetchall()


@pytest.mark.parametrize("hashes", [1, 7, 1 << 32])  # one crowd, several, hardly any
@pytest.mark.parametrize("per_step", [1, 3, 20, 1000])
def test_as_if_all_were_put_in_order(
    duck: duckdb.DuckDBPyConnection,
    hashes: int,
    per_step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowded, "_HASHES", hashes)
    with TemporaryTables(duck) as tables:
        placed = choice_of(tables, per_step).placed(EVENTS, ("cell", "word"), "kept")
    nth = "row_number() OVER (PARTITION BY key, step ORDER BY place, cell, word)"
    plain = f"SELECT {COLUMNS} FROM ({placed}) QUALIFY {nth} <= {per_step} ORDER BY ALL"
    expected = duck.execute(plain).fetchall()
    assert kept(duck, per_step) == held(duck, per_step) == expected
    # rows of other steps stay as they are
    some = [row for row in held(duck, per_step, "step <= 2") if row[0] in (3, 4)]
    assert some == [row for row in held(duck, 1000) if row[0] in (3, 4)]


def test_a_crowd_that_is_not_put_in_order_is_seen(
    duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = kept(duck, 3)
    monkeypatch.setattr(
        Choice,
        "_crowded",
        lambda self, rows: self.tables.create("crowded", (f"SELECT crowd FROM ({rows}) LIMIT 0")),
    )
    assert len(kept(duck, 3)) == len(held(duck, 3)) == 500 > len(sound)


@pytest.mark.parametrize("order", ["n", "-n"])
def test_the_answers_decide_between_events_of_one_place(
    duck: duckdb.DuckDBPyConnection, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places have 64 bits; the order in which rows are read must not decide between equal ones."""
    monkeypatch.setattr(
        Choice, "placed", lambda self, rows, answers, use: f"SELECT *, 7 AS place FROM ({rows})"
    )
    with TemporaryTables(duck) as tables:
        table = tables.create(
            "held",
            "SELECT 1 AS step, 'ada' AS key, 0::UBIGINT AS part, n AS cell, 'w' AS word "
            f"FROM range(50) AS events(n) ORDER BY {order}",
        )
        choice_of(tables, 3).keep(table, "true")
        assert duck.execute(f"SELECT cell FROM {table} ORDER BY cell").fetchall() == [
            (0,),
            (1,),
            (2,),
        ]


def test_places_tell_apart_what_joined_texts_would_not(duck: duckdb.DuckDBPyConnection) -> None:
    """A word may have the character that joins texts; its length says where it ends."""
    pairs = [("a", "b\x1fc"), ("a\x1fb", "c"), ("1:a", "x"), (None, ""), ("", None)]
    rows = ", ".join(
        f"({', '.join('NULL' if one is None else repr(one) for one in pair)})".replace(
            "'a\\x1fb'", "'a' || chr(31) || 'b'"
        ).replace("'b\\x1fc'", "'b' || chr(31) || 'c'")
        for pair in pairs
    )
    bounds = ContributionBounds(
        unit=USER,
        per_step=1,
        max_steps=1,
        lifetime=None,
        answers=("one", "other"),
        marks=(),
        words=("one", "other"),
    )
    with TemporaryTables(duck) as tables:
        choice = Choice(tables, bounds, b"a salt", hashed=False)
        events = f"SELECT 1 AS step, 'ada' AS key, one, other FROM (VALUES {rows}) AS e(one, other)"
        placed = choice.placed(events, ("one", "other"), "kept")
        found = duck.execute(f"SELECT DISTINCT place FROM ({placed})").fetchall()
    assert len(found) == len(pairs)
