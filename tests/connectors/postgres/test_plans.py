"""Plans over a table of Postgres: run, followed, killed, with late commits and gaps."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.declarations import Declarations
from ameles.core.exceptions import PlanError, SourceUnreadable
from ameles.noise import Tape
from ameles.store import open_store
from tests.engine.test_follow import STEP, following, quick
from tests.engine.worlds import COUNT, World, day
from tests.event_tables import GUARD, EventTable
from tests.postgres import Server

__all__ = ["quick"]  # a fixture of every test here


class Visits(EventTable):
    """A plan over a table."""

    def plan_in(self, folder: Path, releases: str) -> World:
        self.world = World(folder, releases, stream='connection = "postgres.toml"')
        self.world.text = self.world.text.replace('"events.csv"', f'"{self.url}"')
        for name, kind in {"region": "text", "age": "int", "fever": "boolean"}.items():
            self.connection.execute(f"ALTER TABLE {self.name} ADD COLUMN {name} {kind}")
        return self.world

    def visit(self, number: int, times: int = 1) -> None:
        self.connection.execute(self.statement(number, times))

    def statement(self, number: int, times: int = 1) -> str:
        return (
            f"INSERT INTO {self.name} (at, who, region) SELECT '{day(number, 10).isoformat()}', "
            f"'ann', 'north' FROM generate_series(1, {times})"
        )


@pytest.fixture
def visits(postgres: Server, tmp_path: Path) -> Iterator[Visits]:
    made = Visits(postgres, tmp_path)
    yield made
    made.connection.close()


def test_a_plan_counts_each_row_in_its_step(visits: Visits, tmp_path: Path) -> None:
    world = visits.plan_in(tmp_path, COUNT)
    visits.visit(1, 3)
    visits.visit(2)
    world.run(1)
    visits.visit(3, 2)
    with visits.connect() as slow:
        slow.execute("BEGIN")
        slow.execute(visits.statement(3, 5))
        world.run(3)
        slow.execute("COMMIT")
    assert world.values() == [3, 4, 6]
    world.run(4)  # late, in the step that was open when it was committed
    assert world.values() == [3, 4, 6, 11]
    assert world.run(4).new == 0


def test_one_row_more_changes_its_own_number_alone(postgres: Server, tmp_path: Path) -> None:
    """On one tape, neighbours publish the same, except for the cell of the row."""
    south = f"INSERT INTO {{}} (at, region) VALUES ('{day(2, 11).isoformat()}', 'south')"
    hostile = [
        "INSERT INTO {} (at, region) VALUES ('infinity', 'south'), (NULL, 'south')",
        "INSERT INTO {} (at, region) SELECT now(), repeat('s', 2000000)",
    ]
    told: list[tuple[Any, ...]] = []
    for name, more in {"with": [south], "without": [], "garbage": hostile}.items():
        folder = tmp_path / name
        folder.mkdir()
        visits = Visits(postgres, folder)
        world = visits.plan_in(folder, STEP)
        visits.visit(1, 3)
        for statement in more:
            visits.connection.execute(statement.format(visits.name))
        visits.visit(2, 2)
        report = world.run(3, noise=Tape([5, -3, 2, 7, -1, 4]))
        visits.connection.close()
        told.append((*(world.values("daily", key) for key in ("north", "south")), report.new))
    with_one, without, garbage = told
    assert garbage == without
    assert (with_one[0], with_one[2]) == (without[0], without[2])
    pairs = zip(with_one[1], without[1], strict=True)
    assert [a - b for a, b in pairs if a is not None and b is not None] == [0, 1, 0]


def test_a_gap_is_recorded_with_its_reason(visits: Visits, tmp_path: Path) -> None:
    world = visits.plan_in(tmp_path, COUNT)
    visits.visit(1)
    world.run(1)
    old = visits.name
    visits.connection.execute(f"ALTER TABLE {old} RENAME TO {old}_old")
    visits.connection.execute(f"CREATE TABLE {old} (LIKE {old}_old INCLUDING ALL)")
    visits.connection.execute(GUARD.format(old))
    visits.visit(2)
    with pytest.raises(SourceUnreadable, match="is not as it was left"):
        world.run(2)
    assert len(world.values()) == 1
    world.run(2, declarations=Declarations(skip_gap="the table was made anew"))
    visits.visit(3)
    world.run(3)
    assert world.values() == [1, 1, 2]
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        (gap,) = transaction.gaps(stream)
    assert gap.why == "the table was made anew"
    assert old in gap.place


def test_a_state_that_may_be_seized_refuses_a_table(visits: Visits, tmp_path: Path) -> None:
    world = visits.plan_in(tmp_path, COUNT)
    world.text = world.text.replace('unit = "event"', 'unit = "event"\nintrusions = "one"')
    with pytest.raises(PlanError, match="keeps"):
        world.run(1)


def test_steps_wait_for_a_server_that_crashed(
    postgres: Server, visits: Visits, tmp_path: Path
) -> None:
    world = visits.plan_in(tmp_path, STEP)
    visits.visit(1, 2)
    with following(world) as live, closing(visits.connect()) as slow:
        slow.execute("BEGIN")
        slow.execute(visits.statement(2, 7))
        live.until(2)
        visits.visit(2)
        postgres.stop(signal.SIGQUIT)
        live.time = live.time + 86_400_000_000
        live.wait(lambda: live.failing)
        assert live.told == [1]
        postgres.start()
        live.until(3)
        assert len(live.failing) == 2
    assert world.values("daily") == [2, 1]
