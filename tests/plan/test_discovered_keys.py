"""Plans whose keys are discovered: what is refused and why, and what is said before any data."""

from __future__ import annotations

import json

import pytest

from ameles.core.exceptions import PlanError
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import Plan, read_plan_text

USER = 'unit = "user"\nuser = "who"\nmax_per_step = 3\nmax_steps = 4'
MEAN = '\ncolumn = "n"\nlower = 0\nupper = 9\ngranularity = 1'
COUNT = 'measure = "count"\nby = { tag = "discovered" }'


def plan(
    release: str = COUNT,
    *,
    unit: str = USER,
    delta: str = "delta = 1e-9",
    stream: str = "horizon = 30",
) -> Plan:
    return read_plan_text(
        '[stream]\nname = "s"\nsource = "events.csv"\ntime = "at"\ncolumns = { at = "timestamp", '
        'who = "text", tag = "text", lang = "text", n = "integer", x = "number" }\n'
        f'start = "2026-01-01"\nevery = "1d"\n{stream}\n[privacy]\npopulation = "people"\n{unit}\n'
        f'epsilon = 4\n{delta}\n[[release]]\nname = "tags"\n{release}\n[store]\nurl = "s.db"\n'
    )


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        ({"unit": 'unit = "event"'}, "by", "with the unit event"),
        ({"delta": ""}, "by", "with delta = 0"),
        ({"stream": ""}, "by", "without a horizon"),
        ({"release": COUNT.replace("count", "mean") + MEAN}, "tags", "for mean"),
        (
            {"release": 'measure = "count"\nby = { tag = "discovered", lang = "discovered" }'},
            "tags",
            "keys of 2 columns are to be discovered",
        ),
        ({"release": 'measure = "count"\nby = { x = "discovered" }'}, "by", "declared as number"),
        ({"release": 'measure = "count"\nmax_keys = 3'}, "tags", "cannot be used with declared"),
        ({"release": COUNT + "\nmax_keys = 13"}, "max_keys", "more than the 12 events"),
        ({"release": COUNT + "\nmax_keys = 2\nmax_per_key = 3"}, "max_per_key", "than the 2"),
        ({"release": COUNT + "\nlooks = 31"}, "looks", "more than the 30 steps"),
        ({"release": COUNT + "\nslots = [1, 2]"}, "slots", "the largest first"),
        ({"release": COUNT + "\nslots = []"}, "slots", "1 to 32 whole numbers"),
        ({"release": COUNT + "\nslots = [true]"}, "slots", "1 to 32 whole numbers"),
        ({"release": COUNT + '\ndrop_after = "36h"'}, "drop_after", "not a whole number of steps"),
        ({"release": COUNT + '\ndrop_after = "soon"'}, "drop_after", "A duration is"),
        (
            {"release": 'measure = "distinct"\nmax_per_key = 2\nby = { tag = "discovered" }'},
            "max_per_key",
            "counts once on each key",
        ),
        ({"release": 'measure = "count"\nby = { tag = "found" }'}, "by", "no declared keys"),
        (
            {"release": COUNT.replace("count", "top") + "\nk = 10_001"},
            "tags",
            "asks for 10,001 of the keys that are discovered; it may ask for up to 10,000",
        ),
        (
            {"release": 'measure = "count"\nby = { tag = "discovered", lang = ["a/b"] }'},
            "tags",
            "has a slash",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    change: dict[str, str], key: str, what: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan(**change)
    assert what in str(caught.value)
    assert key in str(caught.value).partition(what)[0]
    assert "try:" in str(caught.value)


def test_as_many_ranks_as_can_be() -> None:
    (release,) = plan(COUNT.replace("count", "top") + "\nk = 10_000").releases
    assert release.keys[-1] == "10000"


def test_a_state_that_may_be_seized_discovers_nothing() -> None:
    seized = 'unit = "user"\nuser = "who"\nintrusions = "one"'
    with pytest.raises(PlanError, match='cannot be discovered with intrusions = "one"'):
        plan(unit=seized)


def test_the_refusal_of_undeclared_keys_names_the_other_way() -> None:
    with pytest.raises(PlanError, match=r'or \{ tag = "discovered" \}'):
        plan('measure = "count"\nby = { tag = [] }')
    with pytest.raises(PlanError) as caught:
        plan('measure = "mean"\ncolumn = "n"\nby = { tag = [] }')
    assert "discovered" not in str(caught.value)


def test_what_is_public_decides_the_mechanism() -> None:
    recipe = plan().recipes["tags"]
    assert isinstance(recipe, KeyDiscovery)
    assert (recipe.records, recipe.per_key, recipe.cells, recipe.drop_after) == (12, 1, 1, None)
    recipe = plan(
        'measure = "sum"\ncolumn = "n"\nlower = -2\nupper = 5\ngranularity = 1\nmax_keys = 4\n'
        'by = { lang = ["en", "fr", "de"], tag = "discovered" }\nslots = [2, 1]\nlooks = 10\n'
        'drop_after = "7d"\nmax_per_key = 2'
    ).recipes["tags"]
    assert isinstance(recipe, KeyDiscovery)
    assert (recipe.records, recipe.per_key, recipe.bound, recipe.cells) == (4, 2, 5, 3)
    assert (recipe.slots, recipe.looks, recipe.drop_after) == ((2, 1), 10, 7)
    daily = plan('measure = "distinct"\nover = "step"\nby = { tag = "discovered" }').recipes["tags"]
    assert isinstance(daily, KeyDiscovery)
    assert daily.per_key == 4


def test_the_plan_is_told_before_any_data() -> None:
    checked = plan(COUNT + '\ndrop_after = "7d"')
    (forecast,) = forecasts(checked)
    recipe = checked.recipes["tags"]
    assert isinstance(recipe, KeyDiscovery)
    assert (forecast.keys, forecast.discovered) == (0, "tag")
    assert forecast.users_needed == tuple(recipe.users_needed(step) for step in (1, 15, 30))
    assert forecast.half_widths[0] == recipe.value_error(1).bound(1, 0.05)
    told = " ".join(in_words(checked))
    first, middle, last = forecast.users_needed or (0, 0, 0)
    assert f"about {first} users at step 1, {middle} at step 15 and {last} at step 30" in told
    assert "publishes numbers for each key that is discovered every day" in told
    assert "at most 12 events count on all keys of 'tags' together, and at most 1" in told
    assert "depends on the data through this mechanism alone" in told
    assert "has not grown by more than its noise for 7d is dropped" in told


def test_the_plan_names_steps_at_which_keys_are_looked_for() -> None:
    checked = plan(COUNT + "\nlooks = 4")
    (forecast,) = forecasts(checked)
    recipe = checked.recipes["tags"]
    assert isinstance(recipe, KeyDiscovery)
    assert [step for step in range(1, 31) if recipe.look_at(step)] == [8, 15, 23, 30]
    assert forecast.looked_for == (8, 15, 30)
    first, middle, last = forecast.users_needed or (0, 0, 0)
    told = f"about {first} users at step 8, {middle} at step 15 and {last} at step 30"
    assert told in " ".join(in_words(checked))
    once = " ".join(in_words(plan(COUNT + "\nlooks = 1")))
    assert "users at step 30. Which keys" in once, "the only look is at the end"


def test_bounds_of_a_window_are_told_as_such() -> None:
    window = 'unit = "user-window"\nuser = "who"\nwindow = "3d"\nmax_per_step = 3\nmax_steps = 4'
    with pytest.raises(PlanError, match=r"more than the 3 steps of a window\."):
        plan(COUNT, unit=window)


def test_published_keys_join_columns_in_the_order_of_by() -> None:
    release = plan(
        'measure = "histogram"\ncolumn = "n"\nedges = [0, 2, 9]\n'
        'by = { lang = ["en", "fr"], tag = "discovered" }'
    ).releases[0]
    assert release.keys == ()
    assert release.key_columns == ("lang", "tag", "n")
    assert release.names_of("x") == ("en/x/[0,2)", "en/x/[2,9]", "fr/x/[0,2)", "fr/x/[2,9]")


def test_plans_without_discovered_keys_are_stored_as_before() -> None:
    stored = json.loads(plan('measure = "count"\nby = { lang = ["en"] }').to_json())
    assert stored["release"] == [{"by": {"lang": ["en"]}, "measure": "count", "name": "tags"}]
    found = json.loads(plan().to_json())
    assert found["release"] == [{"by": {"tag": "discovered"}, "measure": "count", "name": "tags"}]
