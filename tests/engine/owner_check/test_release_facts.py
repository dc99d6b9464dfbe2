"""What each release counts: keys, conditions, values, weights."""

from __future__ import annotations

from pathlib import Path

from ameles.plan.plan import read_plan_text
from tests.engine.documents import GOOD
from tests.engine.owner_check.looks import PLAIN, checked, told
from tests.engine.worlds import COUNT, World, row


def test_keys_that_are_declared_nearly_declared_and_not(tmp_path: Path) -> None:
    regions = ["north", "north", "North", " south", "east", ""]
    facts = checked(World(tmp_path).write([row(1, region=one) for one in regions]).plan)
    (release,) = facts.releases
    assert (release.matched, release.counted) == (6, 2)
    assert release.keys == {"north": 2, "south": 0}
    assert (release.undeclared, release.nearly) == ({"region": 4}, {"region": 2})
    whole = "".join(told(facts))
    assert "2 events of release 'visits' would have a key of 'region' if capitals" in whole
    assert "1 key of release 'visits' has no event: south." in whole


def test_keys_that_count_as_other_are_no_trouble(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + "other = true\n")
    facts = checked(world.write([row(1, region=one) for one in ("north", "south", "east")]).plan)
    assert facts.releases[0].keys == {"north": 1, "south": 1, "other": 1}
    assert told(facts) == []


def test_values_beyond_the_edges_that_count_as_other_are_no_trouble(tmp_path: Path) -> None:
    ages = '[[release]]\nname = "ages"\nmeasure = "histogram"\ncolumn = "age"\nedges = [0, 50]\n'
    world = World(tmp_path, ages + "other = true\n")
    facts = checked(world.write([row(1, age=7), row(1, age=70), row(1, age="")]).plan)
    assert facts.releases[0].keys == {"[0,50]": 1, "other": 2}
    assert told(facts) == []


def test_conditions_values_bounds_and_edges(tmp_path: Path) -> None:
    plan = read_plan_text(GOOD, base=tmp_path)
    rows = [
        row(1, who="a", amount=-6, age=17),
        row(1, who="b", amount=-5, age=-1),
        row(1, who="c", amount=20, age=65),
        row(1, who="d", amount=20.5, age=66),
        row(1, who="e", amount="", age="", fever="false"),
    ]
    World(tmp_path).write(rows)
    facts = {one.name: one for one in checked(plan).releases}
    assert (facts["visits"].matched, facts["visits"].counted) == (2, 2)
    assert facts["visits"].keys["north/true"] == 2
    for name in ("spent", "average"):
        one = facts[name]
        assert (one.matched, one.counted, one.valueless) == (5, 4, 1)
        assert (one.below, one.above) == (1, 1)
    for name, counted in (("ages", 2), ("median", 4)):
        one = facts[name]
        assert (one.counted, one.valueless, one.below, one.above) == (counted, 1, 1, 1)
    assert facts["ages"].keys == {"[0,18)": 1, "[18,65]": 1}
    assert facts["median"].keys == {"": 4}
    assert facts["kinds"].undeclared == {"region": 5}


def test_weights(tmp_path: Path) -> None:
    world = World(tmp_path, PLAIN, stream='weight = "age"')
    weights = [3, -1, 0, "", 1 << 50, 2.5]
    facts = checked(world.write([row(1, age=one) for one in weights]).plan)
    counts = facts.weights
    assert counts is not None
    assert (counts.missing, counts.negative, counts.zero, counts.clamped) == (2, 1, 1, 1)
    assert counts.total == facts.releases[0].keys[""] == 3 - 1 + (1 << 40)
    assert facts.times.counted == 4


def test_what_is_said_to_be_counted_by_key_is_what_a_run_counts(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + 'where = "age > 17"\nother = true\n')
    regions = ["north", "south", "moon", ""]
    world.write(row(n % 10, region=regions[n % 4], age=n) for n in range(60))
    (release,) = checked(world.plan).releases
    world.run(8)
    assert sum(release.keys.values()) == release.counted > 0
    for key, count in release.keys.items():
        assert world.values(key=key)[-1] == count
