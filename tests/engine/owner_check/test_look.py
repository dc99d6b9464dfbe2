"""The times of events: which steps they fall into, and which never count."""

from __future__ import annotations

from pathlib import Path

from tests.engine.owner_check.looks import busy, checked, told
from tests.engine.worlds import COUNT, USER, World, day, row


def test_times_before_after_and_without(tmp_path: Path) -> None:
    rows = [row(0), row(1), row(8), row(9), row(9), "," + row(1).partition(",")[2]]
    facts = checked(World(tmp_path).write(rows).plan)
    times = facts.times
    assert (times.without, times.before, times.after, times.counted) == (1, 1, 2, 2)
    assert (times.first, times.last) == (day(0), day(9))
    assert "horizon = 9" in "".join(told(facts))
    assert 'start = "2025-12-31" and horizon = 9,' in "".join(told(facts)), (
        "with the old horizon, the last day would not count any more"
    )


def test_a_start_is_proposed_in_the_zone_of_the_plan(tmp_path: Path) -> None:
    world = World(tmp_path, stream='zone = "Europe/Berlin"')
    world.write([row(-1, hour=23), row(1)])
    (finding,) = [one for one in checked(world.plan).findings if "before the start" in one.what]
    assert finding.mend.startswith('start = "2025-12-31"'), "23:00 UTC is the next day there"


def test_what_would_be_chosen_by_looking_is_marked(tmp_path: Path) -> None:
    bounded = "lower = 0\nupper = 2\ngranularity = 1\n"
    spent = f'[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\n{bounded}'
    releases = COUNT + spent
    world = World(tmp_path, releases, unit=USER)
    rows = [*busy(), row(0), row(9), row(1, who="c", amount=9, region="moon", age="x")]
    facts = checked(world.write([*rows, *[row(1, who="d", amount=7, region="moon")] * 3]).plan)
    marked = {one.mend.split(" ")[0] for one in facts.findings if one.by_looking}
    assert marked == {"start", "horizon", "take", "other", "widen"}
    assert [one.by_looking for one in facts.findings if "columns" in one.mend] == []


def test_a_time_that_no_date_has_is_no_trouble(tmp_path: Path) -> None:
    rows = [row(1), ",".join(["20000-01-01", *row(1).split(",")[1:]])]
    facts = checked(World(tmp_path).write(rows).plan)
    assert (facts.times.after, facts.times.last) == (1, day(1))
    assert "horizon = " not in "".join(told(facts)), "a shorter one mends nothing"


def test_no_start_is_proposed_that_is_later_than_the_plans(tmp_path: Path) -> None:
    rows = [row(2), ",".join(["1965-01-01", *row(1).split(",")[1:]])]
    facts = checked(World(tmp_path).write(rows).plan)
    assert facts.times.before == 1
    assert "start = " not in "".join(told(facts))


def test_steps_to_come_wait_and_the_far_future_counts_nowhere(tmp_path: Path) -> None:
    world = World(tmp_path, horizon=None).write([row(1), row(3), row(3), row(20_000)])
    times = checked(world.plan, now=day(3, 0)).times
    assert (times.waiting, times.after, times.counted) == (2, 1, 3)
