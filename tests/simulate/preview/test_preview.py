"""A plan before its launch: its sliders, and seasons that it might publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.measures.mean import Mean
from ameles.noise import Zero
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import Plan, read_plan, read_plan_text
from ameles.simulate.preview import preview as module
from ameles.simulate.preview.preview import MADE_UP, Preview
from tests.each import each

PLANS = Path(__file__).parents[3] / "examples" / "plans"
TEXT = """
[stream]
name = "next"
source = "{source}"
time = "at"
columns = {{ at = "timestamp", device = "text", region = "text", age = "integer" }}
start = "2026-01-01"
every = "1d"
horizon = 60
[privacy]
population = "people"
unit = "user"
user = "device"
max_per_step = 2
max_steps = 30     # of sixty
epsilon = 1
[[release]]
name = "visits"
measure = "count"
over = "7d"
by = {{ region = ["north", "south"] }}
[[release]]
name = "ages"
measure = "mean"
column = "age"
lower = 0
upper = 100
granularity = 1
[[release]]
name = "years"
measure = "sum"
column = "age"
lower = 0
upper = 100
granularity = 1
[store]
url = "next.db"
"""
USERS = TEXT.format(source="events.csv")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_plan_text(USERS)


@pytest.fixture(scope="module")
def preview(plan: Plan) -> Preview:
    return Preview(plan, USERS)


def start(preview: Preview) -> tuple[int, ...]:
    return tuple(slider.start for slider in preview.sliders)


def test_the_sliders_are_the_public_parameters_around_those_of_the_plan(preview: Preview) -> None:
    told = {one["label"]: (one["values"], one["start"]) for one in preview.about()["sliders"]}
    assert told == {
        "epsilon": (["0.125", "0.25", "0.5", "1", "2", "4", "8"], 3),
        "events of a user in a step": (["1", "2", "4", "8", "16"], 1),
        "steps of a user": (["3", "7", "15", "30", "60"], 3),  # 120 steps would be too many
        "window of visits": (["1d", "3d", "7d", "14d", "28d", "56d"], 2),
        "upper bound of ages": (["12", "25", "50", "100", "200", "400", "800"], 3),
        "upper bound of years": (["12", "25", "50", "100", "200", "400", "800"], 3),
    }


def test_at_its_start_it_is_the_plan_itself(preview: Preview, plan: Plan) -> None:
    told = preview.at(start(preview))
    assert told["text"] == USERS
    assert told["words"] == in_words(plan)
    expected = forecasts(plan)
    assert [one["half_widths"] for one in told["releases"]] == [
        list(one.half_widths) for one in expected
    ]
    assert [one["mechanism"] for one in told["releases"]] == [one.mechanism for one in expected]
    assert told["problem"] is None


def test_a_moved_slider_is_in_the_text_and_in_the_numbers(preview: Preview) -> None:
    at = list(start(preview))
    at[0] = 0
    told = preview.at(tuple(at))
    assert told["text"] == USERS.replace("epsilon = 1\n", "epsilon = 0.125\n")
    own = preview.at(start(preview))
    for less, more in zip(told["releases"], own["releases"], strict=True):
        assert less["half_widths"][2] > 4 * more["half_widths"][2], less["name"]


def test_positions_that_make_no_plan_say_why() -> None:
    """Each value by itself is possible, but not both together."""
    text = USERS.replace("upper = 100", "upper = 131072")
    made = Preview(read_plan_text(text), text)
    labels = [slider.label for slider in made.sliders]
    at = list(start(made))
    for label in ("events of a user in a step", "upper bound of years"):
        at[labels.index(label)] = len(made.sliders[labels.index(label)].values) - 1
    told = made.at(tuple(at))
    assert "grid units" in told["problem"]["what"]
    assert told["releases"] == []
    assert "upper = 1048576" in told["text"]


@pytest.mark.parametrize("at", [(), (0,), (99,) * 6, (-1,) * 6])
def test_there_are_no_other_positions(preview: Preview, at: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="no such position"):
        preview.at(at)
    for season, size in (("flu", 0), (MADE_UP, 5), (MADE_UP, -1)):
        with pytest.raises(BadInput, match="no such position"):
            preview.at(start(preview), season, size)


def test_without_noise_a_mean_is_the_mean_of_what_was_made_up(plan: Plan, preview: Preview) -> None:
    (ages,) = (one for one in preview.at(start(preview))["releases"] if one["name"] == "ages")
    assert isinstance(plan.releases[1], Mean)
    around = ages["drawn"]["keys"][0]["around"]
    assert np.allclose(around, 50, atol=0.5)


def noise(told: dict[str, Any], release: str) -> np.ndarray[Any, Any]:
    (one,) = (one for one in told["releases"] if one["name"] == release)
    columns = [np.array([key["value"], key["around"]], dtype=float) for key in one["drawn"]["keys"]]
    return np.array([value - around for value, around in columns])


def test_draws_are_those_of_the_real_mechanism_and_of_nothing_else() -> None:
    """The band covers 95% of the noise of each key.

    20 previews of 6 keys: 120 independent draws; fewer than 98 are inside with probability 3e-8.
    """
    regions = ", ".join(f'"r{n}"' for n in range(6))
    text = USERS[: USERS.index('[[release]]\nname = "ages"')] + '[store]\nurl = "next.db"\n'
    text = text.replace('"north", "south"', regions)
    plan, inside = read_plan_text(text), 0
    for _ in range(20):
        (visits,) = Preview(plan, text).at(STARTS[:4])["releases"]
        for key in visits["drawn"]["keys"]:
            inside += key["low"][40] <= key["around"][40] <= key["high"][40]
    assert inside >= 98


STARTS = (3, 1, 3, 2, 3, 3)


def test_who_looks_twice_sees_the_same_draws_and_another_preview_has_others(plan: Plan) -> None:
    """Draws of equal previews are equal with a probability far below 1e-50."""
    first, second = Preview(plan, USERS), Preview(plan, USERS)
    assert first.at(STARTS) is first.at(STARTS)
    assert (noise(first.at(STARTS), "visits") != noise(second.at(STARTS), "visits")).any()


def test_nothing_is_stored_and_no_source_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Preview(read_plan_text(TEXT.format(source="absent.csv"), base=tmp_path), USERS)
    made.at(start(made))
    assert list(tmp_path.iterdir()) == []


def test_noise_is_drawn_around_a_published_season(plan: Plan) -> None:
    season: dict[tuple[str, str], list[float | None]] = {
        ("visits", "north"): [1e6 + step for step in range(60)],
        ("visits", "south"): [None, *range(50)],
        ("ages", ""): [50.0] * 60,
    }
    made = Preview(plan, USERS, {"flu": season})
    assert made.about()["seasons"] == [MADE_UP, "flu"]
    told = made.at(STARTS, "flu")
    visits, ages, years = told["releases"]
    assert (ages["drawn"], years["drawn"]) == (None, None), "a mean does not add up, years is new"
    north, south = visits["drawn"]["keys"]
    assert north["around"] == season["visits", "north"]
    assert south["around"][:3] == [None, 0, 1]
    assert south["value"][0] is None
    assert south["around"][51:] == [None] * 9
    off = noise(told, "visits")[0]
    assert 0 < np.abs(off).max() < 1e5
    half = np.subtract(north["high"], north["value"])
    assert half.tolist() == np.subtract(north["value"], north["low"]).tolist()


def test_a_preview_without_noise_would_be_seen(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        direct = staticmethod(Zero)

    assert noise(Preview(plan, USERS).at(STARTS), "visits").any()
    monkeypatch.setattr(module, "System", Silent)
    assert not noise(Preview(plan, USERS).at(STARTS), "visits").any()


def test_every_example_can_be_previewed() -> None:
    each((file.stem, previewed, (file,)) for file in sorted(PLANS.glob("*.toml")))


def previewed(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    plan = read_plan(file)
    made = Preview(plan, text)
    told = made.at(start(made))
    assert told["problem"] is None
    # Which keys are found depends on users, and a made-up season has none: a forecast, no picture.
    undrawn = [one["name"] for one in told["releases"] if one["drawn"] is None]
    assert undrawn == [one.name for one in plan.releases if one.discovered is not None]
    assert all(any(one["half_widths"]) for one in told["releases"] if one["name"] in undrawn)
    for one in told["releases"]:  # the page says so, and how many users a key needs
        said = "a key is published once enough users have brought it, about " in one["undrawn"]
        assert said == (one["name"] in undrawn)
        assert bool(one["undrawn"]) == said


SEIZED = """
[stream]
name = "s"
source = "http"
columns = { region = "text", user = "text" }
start = "2026-01-01"
every = "1d"
horizon = 8
[privacy]
population = "people"
intrusions = "one"
epsilon = 1
%s
[store]
url = "s.db"
"""


def test_plans_whose_state_may_be_seized_are_drawn_where_counts_are_enough() -> None:
    events_text = SEIZED % 'unit = "event"\n[[release]]\nname = "n"\nmeasure = "count"'
    (count,) = Preview(read_plan_text(events_text), events_text).at((3,))["releases"]
    assert count["drawn"] is not None
    users_text = SEIZED % (
        'unit = "user"\nuser = "user"\n[[release]]\nname = "n"\nmeasure = "density"\n'
        "users = 1000\ntable = 100\n"
    )
    made = Preview(read_plan_text(users_text), users_text)
    (density,) = made.at(start(made))["releases"]
    assert density["drawn"] is None, "a table of users needs users"
