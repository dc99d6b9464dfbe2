"""A bounded reading owns its tables, and rows may come to it from other processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ameles.connectors.duck import KeptConnection, connect
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource
from ameles.core.guarantee import USER as USER_UNIT
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds, SeenUsers
from ameles.engine.gathering.gatherer import DuckGatherer, Gatherer
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import GathererState, Totals
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from tests.engine.worlds import COUNT, EVENT, USER, World, row

MEMORY = 256 << 20
SALT = b"a salt"
STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
EVER = '[[release]]\nname = "ever"\nmeasure = "distinct"\nwhere = "amount > 3"\n'
BOUNDS = ContributionBounds(
    unit=USER_UNIT, per_step=2, max_steps=3, lifetime=8, answers=("cell_0",), marks=()
)


def events(users: int, start: int = 0) -> str:
    """SQL: five events in each of four steps, of each user."""
    return (
        f"SELECT 1 + n % 4 AS step, 'u' || ({start} + n // 20) AS who, hash(n) AS place, "
        f"hash({start} + n // 20) AS part, 0 AS cell_0 FROM range(20 * {users}) AS numbers(n)"
    )


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(connect(zone="UTC", memory=MEMORY)) as connection:
        yield connection


def tables(duck: duckdb.DuckDBPyConnection) -> int:
    ((count,),) = duck.execute(
        "SELECT (SELECT count(*) FROM duckdb_tables() WHERE temporary) + "
        "(SELECT count(*) FROM duckdb_views() WHERE temporary AND NOT internal)"
    ).fetchall()
    return int(count)


def kept(duck: duckdb.DuckDBPyConnection, rows: str) -> int:
    ((count,),) = duck.execute(f"SELECT count(*) FROM ({rows})").fetchall()
    return int(count)


def bounding(duck: duckdb.DuckDBPyConnection, target: int = 4) -> Bounding:
    return Bounding(duck, BOUNDS, Moment(0, target, 8), SALT, None)


@pytest.mark.parametrize("entry", ["passing", "holding", "keyed"])
@pytest.mark.parametrize("target", [2, 4])
def test_its_tables_last_as_long_as_its_block(
    duck: duckdb.DuckDBPyConnection, entry: str, target: int
) -> None:
    here = bounding(duck, target)
    select = events(3)
    entries = {
        "passing": lambda: here.passing(select),
        "holding": lambda: here.holding([select, events(1, start=9)], {}),
        "keyed": lambda: here.keyed(here.with_keys([select])),
    }
    with entries[entry]() as bounded:
        assert tables(duck)
        assert kept(duck, bounded.rows)
        assert bool(bounded.candidates()) == (target == 2)
    assert not tables(duck)
    with pytest.raises(KeyError), entries[entry]():
        raise KeyError
    assert not tables(duck)


def test_two_of_them_know_nothing_of_each_other(duck: duckdb.DuckDBPyConnection) -> None:
    """In whatever order they are opened, asked and closed."""
    here = bounding(duck)
    with here.holding([events(5)], {}) as first:
        with here.holding([events(2)], {}) as second, here.passing(events(1)) as third:
            counts = [kept(duck, bounded.rows) for bounded in (first, second, third)]
        assert counts == [5 * 2 * 3, 2 * 2 * 3, 2 * 4]  # who passes is bounded in a step alone
        seen = first.seen({})
        assert seen is not None
        assert len(seen.users) == 5


def test_what_is_remembered_of_users_counts(duck: duckdb.DuckDBPyConnection) -> None:
    def lookup(window: int, users: list[bytes]) -> SeenUsers:
        used = np.arange(len(users), dtype=np.int64) * BOUNDS.max_steps
        return SeenUsers(window, users, used, np.zeros_like(used))

    here = Bounding(duck, BOUNDS, Moment(0, 4, 8), SALT, lookup)
    with here.holding([events(2)], {}) as bounded:
        assert kept(duck, bounded.rows) == 2 * 3  # one of them has used up its steps


def exact(totals: dict[str, Totals]) -> dict[str, list[tuple[int, ...]]]:
    return {
        name: sorted(
            (int(step), int(cell), *map(int, amounts))
            for step, cell, amounts in zip(some.step, some.cell, some.amounts, strict=True)
        )
        for name, some in totals.items()
    }


def in_two_files(folder: Path, unit: str) -> tuple[Plan, Reading]:
    world = World(folder, COUNT + STEP + EVER * (unit == USER), unit=unit)
    rows = [
        row(1 + n % 6, who=f"u{min(n % 40, n % 11)}", hour=n % 24, amount=n % 7) for n in range(120)
    ]
    world.write(rows[:70]).file.rename(folder / "a.csv")
    world.write(rows[70:]).file.rename(folder / "b.csv")
    world.text = world.text.replace("events.csv", "*.csv")
    source = plan_source(world.plan)
    assert isinstance(source, SeekableSource)
    return world.plan, source.reading(None)


def gathered(plan: Plan, reading: Reading, moment: Moment) -> dict[str, Totals]:
    gatherer: Gatherer = DuckGatherer(plan, KeptConnection(zone="UTC", memory=MEMORY))
    with closing(gatherer):
        return gatherer.gather(reading, moment, SALT, GathererState()).totals


def test_pieces_of_events_add_up_wherever_they_are_read(tmp_path: Path) -> None:
    plan, reading = in_two_files(tmp_path, EVENT)
    moment = Moment(0, 5, 8)
    parts = [gathered(plan, Reading((piece,), ""), moment) for piece in reading.pieces]
    joined = {name: Totals.joined([part[name] for part in parts], 1) for name in parts[0]}
    assert exact(joined) == exact(gathered(plan, reading, moment))
