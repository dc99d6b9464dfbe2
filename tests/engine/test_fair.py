"""Which events of a user count: a fair sample, whatever the events are and however they come."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import connect
from ameles.core.guarantee import USER
from ameles.engine.gathering import crowded
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays, pack, stacked, unpack
from tests.engine.worlds import USER as USERS
from tests.engine.worlds import World, row

SALT = bytes(range(32))
KEPT = 2
# (user, step, cell, amount) of each event
Event = tuple[str, int, int | None, int]


def bounds_of(per_step: int = KEPT, steps: int = 8, *, once: bool = False) -> ContributionBounds:
    return ContributionBounds(
        unit=USER,
        per_step=per_step,
        max_steps=steps,
        lifetime=8,
        answers=("cell", "amount"),
        marks=("once",) if once else (),
    )


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(connect(zone="UTC", memory=256 << 20)) as connection:
        yield connection


def select_of(events: Iterable[Event], columns: int = 0) -> str:
    """SQL: events as the engine selects them, with some columns that no release asks for."""
    rows = ", ".join(
        f"({step}, '{who}', {'NULL' if cell is None else cell}, {amount})"
        for who, step, cell, amount in events
    )
    more = "".join(f", random() AS unused_{n}" for n in range(columns))
    return (
        f"SELECT step, who, hash(who) AS part, CAST(cell AS BIGINT) AS cell, "
        f"CAST(amount AS BIGINT) AS amount{more} FROM (VALUES {rows}) AS events(step, who, cell, "
        "amount)"
    )


def bounding(
    duck: duckdb.DuckDBPyConnection, *, target: int = 8, salt: bytes = SALT, **bounds: Any
) -> Bounding:
    return Bounding(duck, bounds_of(**bounds), Moment(0, target, 8), salt, None)


def kept(duck: duckdb.DuckDBPyConnection, rows: str) -> list[tuple[int, int | None, int]]:
    return duck.execute(f"SELECT step, cell, amount FROM ({rows}) ORDER BY ALL").fetchall()


def clumps(users: int) -> list[Event]:
    """Forty rows of each user in a step: 38 equal ones, and two that are equal too."""
    return [(f"u{n}", 1, int(place < 2), 0) for n in range(users) for place in range(40)]


def passing(duck: duckdb.DuckDBPyConnection, events: list[Event], **more: Any) -> list[Any]:
    with bounding(duck, **more).passing(select_of(events)) as bounded:
        return kept(duck, bounded.rows)


def holding(duck: duckdb.DuckDBPyConnection, events: list[Event], **more: Any) -> list[Any]:
    with bounding(duck, steps=3, **more).holding([select_of(events)], {}) as bounded:
        return kept(duck, bounded.rows)


def in_scans(duck: duckdb.DuckDBPyConnection, events: list[Event], **more: Any) -> list[Any]:
    scans = [select_of(events[start::7]) for start in range(7)]
    with bounding(duck, steps=3, **more).holding(scans, {}) as bounded:
        return kept(duck, bounded.rows)


def in_batches(duck: duckdb.DuckDBPyConnection, events: list[Event], **more: Any) -> list[Any]:
    """Batches of one open step, each with a state that was stored and read again."""
    waiting: Arrays = {}
    for start in range(5):
        part = [select_of(events[start::5])]
        with bounding(duck, target=0, steps=3, **more).holding(part, waiting) as bounded:
            waiting = unpack(pack(bounded.candidates()))[0]
    with bounding(duck, steps=3, **more).holding([], waiting) as bounded:
        return kept(duck, bounded.rows)


def in_tasks(duck: duckdb.DuckDBPyConnection, events: list[Event], **more: Any) -> list[Any]:
    """Pieces in tasks of a cluster, and one task that bounds them."""
    here = bounding(duck, steps=3, **more)
    pieces = [here.with_keys([select_of(events[start::3])]) for start in range(3)]
    with here.keyed(stacked(pieces)) as bounded:
        return kept(duck, bounded.rows)


WAYS = [passing, holding, in_scans, in_batches, in_tasks]


def test_equal_rows_count_as_often_as_chance_says(duck: duckdb.DuckDBPyConnection) -> None:
    """600 users keep 2 of 40 rows, 2 of which are true: 60 of 1,200 are fair.

    The variance of one user's part is 2 * .05 * .95 * 38 / 39, so that of the sum is 55.5; false
    alarm 6e-7 beyond 5 standard deviations, and the salt is fixed, so there is none at all.
    """
    true = sum(cell or 0 for _, cell, _ in passing(duck, clumps(600)))
    assert abs(true - 60) <= 5 * 55.5**0.5


def test_each_event_has_the_same_chance(duck: duckdb.DuckDBPyConnection) -> None:
    """One content three times, one twice and three contents once, 3 of 8 kept by 3,000 users.

    Chi-square with 4 degrees of freedom over how often each content counts; it exceeds 33 with
    probability 1.2e-6 at most (draws without replacement vary less), and the salt is fixed.
    """
    copies = {0: 3, 1: 2, 2: 1, 3: 1, None: 1}
    users = 3000
    events = [
        (f"u{n}", 1 + n % 3, cell, 7)
        for n in range(users)
        for cell, times in copies.items()
        for _ in range(times)
    ]
    found = [cell for _, cell, _ in passing(duck, events, per_step=3)]
    assert len(found) == 3 * users
    fair = {cell: Fraction(3 * users * times, 8) for cell, times in copies.items()}
    assert sum((found.count(cell) - mean) ** 2 / mean for cell, mean in fair.items()) <= 33


def test_users_and_steps_choose_independently(duck: duckdb.DuckDBPyConnection) -> None:
    """Two different rows in each of 8 steps of 200 users, one of which counts.

    A choice that forgot the user or the step would be the same for all of them: 0 or 1,600.  Of
    fair ones 800 are the first row, with a standard deviation of 20 (false alarm 6e-7).
    """
    events: list[Event] = [
        (f"u{n}", 1 + step, cell, 0) for n in range(200) for step in range(8) for cell in (0, 1)
    ]
    found = passing(duck, events, per_step=1)
    assert abs(sum(cell or 0 for _, cell, _ in found) - 800) <= 100
    for step in range(1, 9):
        here = [cell for at, cell, _ in found if at == step]
        assert 60 <= sum(here) <= 140


@pytest.mark.parametrize("way", WAYS[1:])
def test_the_same_events_count_however_they_come(duck: duckdb.DuckDBPyConnection, way: Any) -> None:
    events = clumps(40) + [
        (f"v{n % 9}", 1 + n % 3, n % 4 if n % 5 else None, n % 6) for n in range(300)
    ]
    expected = passing(duck, events)
    assert way(duck, events) == expected
    assert way(duck, events[::-1]) == expected
    assert way(duck, events, salt=b"another") != expected


@pytest.mark.parametrize("way", WAYS)
def test_a_user_changes_nothing_of_another(duck: duckdb.DuckDBPyConnection, way: Any) -> None:
    mine: list[Event] = [("me", 1, n % 3, n) for n in range(30)]
    others: list[Event] = [(f"u{n % 5}", 1, n % 4, 100 + n) for n in range(200)]
    alone = way(duck, others)
    assert [one for one in way(duck, [*mine, *others]) if one[2] >= 100] == alone


def test_columns_that_no_release_asks_for_change_nothing(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    events = clumps(30)
    for columns in (1, 9):
        with bounding(duck).passing(select_of(events, columns)) as bounded:
            assert kept(duck, bounded.rows) == passing(duck, events)


def test_what_waits_takes_a_row_for_each_different_event(duck: duckdb.DuckDBPyConnection) -> None:
    with bounding(duck, target=0).holding([select_of(clumps(5))], {}) as bounded:
        waiting = bounded.candidates()
    assert sorted(waiting["times"].tolist()) == [2] * 5 + [38] * 5


@pytest.mark.parametrize("once", ["step", "life"])
@pytest.mark.parametrize("way", ["passing", "batches"])
def test_who_counts_once_counts_where_a_fair_event_is(
    duck: duckdb.DuckDBPyConnection, once: Any, way: str
) -> None:
    """400 users with 9 events in one cell and one in another, in two steps.

    In each step 40 of them count in the second cell, with a standard deviation of 6.
    """
    events = [
        (f"u{n}", step, int(place == 0), 0)
        for n in range(400)
        for step in (1, 2)
        for place in range(10)
    ]
    here = bounding(duck, per_step=10, once=once == "life")
    waiting: Arrays = {}
    if way == "batches":
        ahead = bounding(duck, target=0, per_step=10, once=once == "life")
        with ahead.holding([select_of(events[::2])], {}) as bounded:
            waiting, events = bounded.candidates(), events[1::2]
    with here.holding([select_of(events)], waiting) as bounded:
        found = duck.execute(bounded.once("cell", "once", once)).fetchall()
    steps = (1, 2) if once == "step" else (1,)
    assert len(found) == 400 * len(steps)
    for step in steps:
        assert abs(sum(cell for at, cell in found if at == step) - 40) <= 30


def test_who_has_several_cells_in_one_step_counts_in_the_others_too(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    events: list[Event] = [("ada", 1, 0, 0), ("ada", 1, 1, 0), ("ada", 2, 5, 0), ("bob", 1, 7, 0)]
    with bounding(duck).passing(select_of(events)) as bounded:
        found = duck.execute(bounded.once("cell", "once", "step")).fetchall()
    assert sorted(step for step, _ in found) == [1, 1, 2]
    assert {(2, 5), (1, 7)} < set(found)


def test_who_counts_once_is_fair_among_the_events_that_are_kept(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    """Two of ten events are kept, and one of ten is in the second cell, as above.

    A kept event has a small place.  If that place chose once more among the kept ones, after they
    were numbered anew, twice as many users would count in the second cell: 76 of 400.
    """
    events = [(f"u{n}", 1, int(place == 0), 0) for n in range(400) for place in range(10)]
    bounds = replace(bounds_of(), answers=("cell",))
    with Bounding(duck, bounds, Moment(0, 8, 8), SALT, None).passing(select_of(events)) as bounded:
        found = duck.execute(bounded.once("cell", "once", "step")).fetchall()
    assert abs(sum(cell for _, cell in found) - 40) <= 25


def test_a_place_is_the_sha_256_of_the_user_the_step_the_answers_and_a_number(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    """What a stream keeps must not change with versions of DuckDB, so Python says the same."""
    events = [("ada", 3, cell, amount) for cell in (None, 0, 1) for amount in (5, 5, -6)]
    found = passing(duck, events)
    key = hashlib.sha256(SALT.hex().encode() + b"ada").hexdigest()[:32]
    places = []
    for cell in (None, 0, 1):
        for amount, number in ((5, 1), (5, 2), (-6, 1)):
            texts = ["" if cell is None else str(cell), str(amount)]
            joined = "\x1f".join([SALT.hex(), "kept", key, "3", *texts, str(number)])
            place = int(hashlib.sha256(joined.encode()).hexdigest()[:16], 16)
            places.append((place, (3, cell, amount)))
    assert sorted(map(str, found)) == sorted(str(event) for _, event in sorted(places)[:KEPT])


def test_a_choice_without_numbers_is_seen(
    duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake that was there: equal rows share one place, and stay or go together."""
    monkeypatch.setattr(crowded, "NUMBER", "1")
    true = sum(cell or 0 for _, cell, _ in passing(duck, clumps(600)))
    assert true > 5 * 60


def test_a_stream_publishes_a_fair_mean(tmp_path: Path) -> None:
    """End to end: 200 users with 40 rows, 5% of them true, and other columns beside."""
    release = '[[release]]\nname = "m"\nmeasure = "count"\nover = "step"\nwhere = "fever"\n'
    world = World(tmp_path, release, unit=USERS)
    world.write(
        row(1, who=f"u{n}", hour=12, age=30, amount=1, fever=place < 2)
        for n in range(200)
        for place in range(40)
    )
    world.run(1)
    (true,) = world.values("m", "")
    # 20 of 400 are fair; standard deviation 4.3, false alarm 6e-7
    assert true is not None
    assert abs(true - 20) <= 22
