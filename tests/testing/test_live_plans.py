"""Plans that read standard input: rows arrive when the test says so, and cannot be read again."""

from __future__ import annotations

import pytest

from ameles.testing import PlanTest
from ameles.testing.plan_test import Place
from tests.testing.plans import EVENT, SEALED, live_plan

NORTH = {"who": "ada", "region": "north"}
SOUTH = {"who": "ada", "region": "south"}
BOTH = pytest.mark.parametrize("unit", [EVENT, SEALED], ids=["event", "sealed"])


@BOTH
def test_a_row_counts_in_the_step_in_which_it_arrives(unit: str) -> None:
    test = PlanTest(live_plan(unit))
    test.add(NORTH)
    test.clock.advance(days=1, hours=1)
    test.add(NORTH, SOUTH)
    test.clock.set("2026-01-04")
    test.add(SOUTH)
    assert test.run().released == 3
    test.run(through=5)
    assert test.values("daily") == [1, 2, 0, 1, 0]
    assert test.values("visits", "south") == [0, 1, 1, 2, 2]


@BOTH
@pytest.mark.parametrize("where", ["before commit", "after commit"])
def test_what_was_stored_survives_a_crash(unit: str, where: Place) -> None:
    test = PlanTest(live_plan(unit))
    test.add(NORTH)
    test.crash(where, step=1)
    test.add(NORTH)
    test.run(through=2)
    assert test.values("daily") == [1, 1]


@BOTH
def test_a_row_that_was_read_and_not_stored_is_lost(unit: str) -> None:
    test = PlanTest(live_plan(unit))
    test.add(NORTH, SOUTH)
    test.run(through=1)
    test.add(NORTH, SOUTH)
    test.crash("read", step=2)
    test.run(through=2)
    assert test.values("daily") == [2, 1]
    assert test.values("visits", "north") == [1, 1]


def test_without_rows_the_end_of_the_step_is_read() -> None:
    test = PlanTest(live_plan())
    test.crash("read", step=2)
    assert len(test.values("daily")) == 1
    test.run()
    assert test.values("daily") == [0, 0]


def test_a_step_closes_when_its_grace_is_over() -> None:
    test = PlanTest(live_plan(stream='grace = "2h"'))
    test.clock.advance(days=1, hours=1)
    assert test.run().released == 0
    assert test.run(through=1).released == 1
    assert test.clock.now.isoformat() == "2026-01-02T02:00:00+00:00"


def test_a_clock_that_was_set_back_changes_no_released_step() -> None:
    test = PlanTest(live_plan())
    test.run(through=2)
    test.clock.set("2026-01-01")
    test.add(NORTH)
    test.run(through=3)
    assert test.values("daily") == [0, 0, 1]


def test_nothing_follows_the_horizon() -> None:
    test = PlanTest(live_plan())
    test.run(through=6)
    test.add(NORTH)
    assert test.run(through=9).released == 6
