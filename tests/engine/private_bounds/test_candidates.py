"""Candidates: public, from the narrowest to the plan's own bound, or as a person gives them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ameles.core.exceptions import BadInput, PlanError
from ameles.engine.private_bounds.candidates import (
    narrower_keys,
    plan_bounds,
    round_numbers,
    with_bounds,
)
from ameles.engine.private_bounds.noise_cost import LARGEST
from ameles.measures.discovering import DiscoveringMeasure
from tests.engine.worlds import COUNT, EVENT

from .choices import MEAN, SUM, USERS, WINDOWS, question, world_of


def listed(folder: Path, releases: str, unit: str) -> dict[str, list[float]]:
    bounds = plan_bounds(world_of(folder, releases, unit).plan)
    return {bound.label: [float(one) for one in bound.candidates] for bound in bounds}


@pytest.mark.parametrize(
    ("top", "numbers"),
    [(1, [1]), (2, [1, 2]), (5, [1, 2, 5]), (6, [1, 2, 5, 6]), (11, [1, 2, 5, 10, 11])],
)
def test_round_numbers_end_at_the_top(top: int, numbers: list[int]) -> None:
    assert round_numbers(top) == numbers


def test_the_plans_own_bounds_are_the_widest_candidates(tmp_path: Path) -> None:
    assert listed(tmp_path, COUNT + SUM, USERS) == {
        "max_per_step": [1, 2, 5],
        "max_steps": [1, 2, 5, 8],
        "spent.lower": [-0.5, -1, -2.5, -5],
        "spent.upper": [0.5, 1, 2.5, 5, 10, 20],
    }
    assert list(listed(tmp_path, MEAN, EVENT)) == ["average.lower", "average.upper"]
    assert listed(tmp_path, COUNT, EVENT) == {}


@pytest.mark.parametrize(
    ("ends", "lower", "upper"),
    [
        ((0, 3), [0], [0.5, 1, 2.5, 3]),
        ((2, 4), [2], [2.5, 3, 4]),
        ((-4, -2), [-2.5, -3, -4], [-2]),
    ],
)
def test_the_end_nearest_to_zero_stays(
    ends: tuple[int, int], lower: list[float], upper: list[float], tmp_path: Path
) -> None:
    release = SUM.replace("-5", str(ends[0])).replace("20", str(ends[1]))
    assert listed(tmp_path, release, EVENT) == {"spent.lower": lower, "spent.upper": upper}


KEYS = '[[release]]\nname = "tags"\nmeasure = "count"\nby = { region = "discovered" }\n'
DELTA = f"{USERS}\ndelta = 1e-6"


def test_bounds_of_discovered_keys_follow_those_of_users(tmp_path: Path) -> None:
    plan = world_of(tmp_path, KEYS + "max_keys = 20\nmax_per_key = 7\n", DELTA).plan
    assert [bound.label for bound in plan_bounds(plan)] == ["max_per_step", "max_steps"]
    for per_step, steps, wanted in ((5, 8, (20, 7)), (2, 5, (10, 7)), (1, 3, (3, 3))):
        values = {"max_per_step": Fraction(per_step), "max_steps": Fraction(steps)}
        (release,) = with_bounds(plan, values).releases
        assert isinstance(release, DiscoveringMeasure)
        assert (release.max_keys, release.max_per_key) == wanted
    narrow = narrower_keys(plan, {"max_steps": Fraction(1)})
    assert narrow == {"tags.max_keys": Fraction(5), "tags.max_per_key": Fraction(5)}
    assert narrower_keys(plan, {}) == {}
    left_out = world_of(tmp_path, KEYS, DELTA).plan
    assert narrower_keys(left_out, {"max_steps": Fraction(1)}) == {}


def test_bounds_of_discovered_keys_are_chosen_by_their_noise(tmp_path: Path) -> None:
    """With an explicit ``max_keys``, too: no candidate is refused for it."""
    asked = question(world_of(tmp_path, KEYS + "max_keys = 20\n", DELTA))
    assert [bound.label for bound in asked.bounds] == ["max_per_step", "max_steps"]
    for costs in asked.costs:
        assert list(costs) == sorted(set(costs))  # each is finite, and wider costs more
        assert costs[-1] < LARGEST


def test_a_grid_of_ones_own(tmp_path: Path) -> None:
    plan = world_of(tmp_path).plan
    grids = {
        "spent.lower": [Fraction(-2), Fraction(-1, 2)],
        "max_steps": [Fraction(7), Fraction(3)],
    }
    bounds = {bound.label: bound for bound in plan_bounds(plan, grids)}
    assert bounds["spent.lower"].candidates == (Fraction(-1, 2), Fraction(-2))
    assert bounds["spent.lower"].whole == (-1, -4)
    assert bounds["spent.lower"].reach == 3
    assert bounds["max_steps"].whole == (3, 7)
    assert bounds["max_per_step"].whole == (1, 2, 5), "the others stay as they were"


@pytest.mark.parametrize(
    ("label", "grid", "told"),
    [
        ("max_visits", ["1"], "no bound 'max_visits'"),
        ("max_steps", ["2", "2"], "different numbers"),
        ("max_steps", [], "different numbers"),
        ("max_steps", [str(n) for n in range(1, 1002)], "different numbers"),
        ("max_steps", ["1", "3/2"], "multiples of 1 only"),
        ("spent.upper", ["1", "1/3"], "multiples of 0.5 only"),
        ("max_steps", ["0", "1"], "max_steps"),
        ("spent.upper", ["-3", "5"], "spent"),
    ],
)
def test_grids_that_make_no_sense_are_refused(
    label: str, grid: list[str], told: str, tmp_path: Path
) -> None:
    with pytest.raises((BadInput, PlanError), match=told):
        plan_bounds(world_of(tmp_path).plan, {label: [Fraction(one) for one in grid]})


def test_other_bounds_are_checked_like_a_plan(tmp_path: Path) -> None:
    plan = world_of(tmp_path).plan
    other = with_bounds(plan, {"max_steps": Fraction(2), "spent.upper": Fraction(7, 2)})
    assert (other.privacy.max_steps, other.privacy.max_per_step) == (2, 5)
    assert other.releases[1].model_dump()["upper"] == "7/2"
    assert other.releases[0] == plan.releases[0]
    with pytest.raises(PlanError, match="more than the 8 steps"):
        with_bounds(plan, {"max_steps": Fraction(9)})
    with pytest.raises(PlanError, match=r"at most 2\*\*22 units"):
        with_bounds(plan, {"spent.upper": Fraction(10**9)})


def test_other_bounds_change_nothing_else(tmp_path: Path) -> None:
    plan = world_of(tmp_path, unit=WINDOWS, stream='rotated = "events.csv.*"').plan
    plan = replace(plan, rules=1)
    other = with_bounds(plan, {"max_steps": Fraction(2)})
    assert other.stream == plan.stream, "with what a stored plan leaves out"
    assert (other.rules, other.base, other.store) == (plan.rules, plan.base, plan.store)
    assert with_bounds(plan, {}).to_json() == plan.to_json()
