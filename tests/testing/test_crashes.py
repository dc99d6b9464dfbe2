"""Crashes on request come where they should, and the next run goes on as if there had been none."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ameles.core.exceptions import BadInput
from ameles.testing import ListSink, PlanTest
from ameles.testing.plan_test import Place
from tests.testing.plans import EVENT, USER, plan, visit

PLACES: tuple[Place, ...] = get_args(Place)
WHO = (("north", "ada"), ("east", "bob"))
ROWS = [visit(day, region, who) for day in (1, 2, 3) for region, who in WHO]


def with_sink(unit: str = EVENT) -> tuple[PlanTest, ListSink]:
    sink = ListSink()
    test = PlanTest(plan(unit), sink=sink)
    test.add(*ROWS)
    return test, sink


def released(test: PlanTest) -> int:
    return len({each.step for each in test.releases()})


@pytest.mark.parametrize("where", [place for place in PLACES if place != "publish"])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(("unit", "daily"), [(EVENT, [2, 2, 2, 0]), (USER, [2, 2, 0, 0])])
def test_the_truth_is_the_same_after_a_crash(
    where: Place, step: int, unit: str, daily: list[int]
) -> None:
    test = PlanTest(plan(unit))
    test.add(*ROWS)
    test.crash(where, step=step)
    test.run(through=4)
    assert test.values("daily") == daily


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("step", [1, 3])
def test_what_a_crash_leaves(where: Place, step: int) -> None:
    test, sink = with_sink()
    test.crash(where, step=step)
    lost = {"read": step, "before commit": 1, "after commit": 0, "publish": 0}[where]
    assert released(test) == step - lost
    in_sink = {row["step"] for row in sink.rows}
    assert in_sink == (set(range(1, step + 1)) if where == "publish" else set())


def test_a_crash_while_publishing_leaves_a_part_of_a_step() -> None:
    test, sink = with_sink()
    test.run(through=1)
    test.crash("publish", step=2)
    assert [(row["release"], row["step"]) for row in sink.rows if row["step"] == 2] == [
        (sink.rows[-1]["release"], 2)
    ]
    assert (sink.last(), sink.first_needed(0)) == (2, 2)


@pytest.mark.parametrize("where", PLACES)
def test_nothing_is_published_twice_differently(where: Place) -> None:
    test, sink = with_sink()
    test.run(through=1)
    test.crash(where, step=3)
    before = test.releases()
    seen = list(sink.rows)
    test.run(through=4)
    after = test.releases()
    assert after[: len(before)] == before
    assert [row for row in seen if row not in sink.rows] == []
    assert sink.rows == [each.to_dict() for each in after]
    assert sink.values("visits", "north") == test.values("visits", "north")


@pytest.mark.parametrize("where", ["before commit", "after commit"])
def test_a_crash_of_the_launch(where: Place) -> None:
    test = PlanTest(plan())
    test.crash(where, step=0)
    assert test.run(through=1).launched == (where == "before commit")


def test_crashes_follow_each_other() -> None:
    test, sink = with_sink()
    for step in (1, 2, 3):
        for where in PLACES[:2]:
            test.crash(where, step=step)
        test.crash("publish", step=step)
    test.run(through=3)
    assert sink.rows == [each.to_dict() for each in test.releases()]


def test_a_step_beyond_the_horizon_does_not_come() -> None:
    for where in PLACES:
        test, _ = with_sink()
        test.run(through=6)
        with pytest.raises(AssertionError, match=f"without the crash '{where}' in step 7"):
            test.crash(where, step=7)
        assert test.run().new == 0  # no crash is left over


def test_a_place_that_does_not_exist_is_refused() -> None:
    """Otherwise a misspelt place would be taken for another one, and the test would pass."""
    misspelt: Any = "before comit"
    test = PlanTest(plan())
    with pytest.raises(BadInput, match="no crash 'before comit'") as refused:
        test.crash(misspelt, step=1)
    assert "'before commit'" in str(refused.value.tip)
    assert test.releases() == []


def test_a_crash_to_which_no_run_can_come_is_refused() -> None:
    test = PlanTest(plan())
    with pytest.raises(BadInput, match="needs a sink"):
        test.crash("publish", step=1)
    with pytest.raises(BadInput, match="The launch reads and publishes nothing"):
        test.crash("read", step=0)
    test.run(through=2)
    with pytest.raises(BadInput, match="Step 2 is released already"):
        test.crash("before commit", step=2)
