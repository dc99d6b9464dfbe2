"""The penalty for noise: public, from the plan, and about the numbers that a release publishes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest

from ameles.engine.private_bounds.candidates import CandidateBound, plan_bounds, with_bounds
from ameles.engine.private_bounds.noise_cost import LARGEST, SCALE, noise_costs
from ameles.plan.plan import Plan
from tests.engine.worlds import COUNT, EVENT

from .choices import MEAN, SUM, USERS, world_of

STEPS = COUNT.replace('"count"', '"count"\nover = "step"')
DISTINCT = '[[release]]\nname = "people"\nmeasure = "distinct"\n'


def costs(plan: Plan, label: str, steps: int = 8) -> tuple[int, ...] | None:
    bounds = plan_bounds(plan)
    (bound,) = [one for one in bounds if one.label == label]
    return noise_costs(plan, bound, bounds, steps)


def std(plan: Plan, place: int = 0, **bounds: int) -> float:
    other = with_bounds(plan, {name: Fraction(value) for name, value in bounds.items()})
    release = other.releases[place]
    return math.sqrt(release.variance(other.terms(release), plan.shares[release.name]))


def test_it_is_the_noise_of_all_keys_as_if_each_user_had_one_event(tmp_path: Path) -> None:
    plan = world_of(tmp_path, COUNT).plan
    expected = [math.ceil(SCALE * 2 * std(plan, max_steps=b, max_per_step=1)) for b in (1, 2, 5, 8)]
    assert costs(plan, "max_steps") == tuple(expected)
    expected = [math.ceil(SCALE * 2 * std(plan, max_steps=1, max_per_step=a)) for a in (1, 2, 5)]
    assert costs(plan, "max_per_step") == tuple(expected)


def test_other_bounds_on_users_are_one_whatever_their_grid(tmp_path: Path) -> None:
    plan = world_of(tmp_path, COUNT).plan
    bounds = plan_bounds(plan, {"max_per_step": [Fraction(3), Fraction(5)]})
    assert noise_costs(plan, bounds[1], bounds, 8) == costs(plan, "max_steps")


def test_each_step_of_a_window_adds_its_noise(tmp_path: Path) -> None:
    plan = world_of(tmp_path, STEPS).plan
    once = std(plan, max_steps=5, max_per_step=1)
    (_, _, fifth, _) = costs(plan, "max_steps", steps=6) or ()
    assert fifth == math.ceil(SCALE * 6 * 2 * once)
    windows = world_of(tmp_path, STEPS.replace('"step"', '"4d"')).plan
    once = std(windows, max_steps=5, max_per_step=1)
    (_, _, fifth, _) = costs(windows, "max_steps", steps=6) or ()
    assert fifth == math.ceil(SCALE * 2 * 2 * once), "two windows, without overlap"


def test_it_is_the_mean_of_the_releases_whose_noise_depends_on_the_bound(tmp_path: Path) -> None:
    plan = world_of(tmp_path, COUNT + DISTINCT).plan
    expected = [math.ceil(SCALE * 2 * std(plan, max_steps=b, max_per_step=1)) for b in (1, 2, 5, 8)]
    assert costs(plan, "max_steps") == tuple(expected), "distinct users need the same noise"
    plan = world_of(tmp_path, COUNT + STEPS.replace('"visits"', '"daily"')).plan
    both = [std(plan, place, max_steps=2, max_per_step=1) for place in (0, 1)]
    (_, second, *_) = costs(plan, "max_steps", steps=3) or ()
    assert second == math.ceil(SCALE * (2 * both[0] + 3 * 2 * both[1]) / 2)


def test_noise_that_does_not_depend_on_a_bound_is_no_reason(tmp_path: Path) -> None:
    assert costs(world_of(tmp_path, DISTINCT).plan, "max_per_step") is None
    bound = CandidateBound("upper", "spent", (Fraction(1), Fraction(2)), Fraction(1, 2))
    plan = world_of(tmp_path, SUM, EVENT).plan
    below = CandidateBound("lower", "spent", (Fraction(-5),), Fraction(1, 2))
    assert noise_costs(plan, bound, [below, bound], 8) is None, "the other end is further away"


def test_values_count_in_their_own_grid(tmp_path: Path) -> None:
    for release, parts in ((SUM, 1), (MEAN, 2)):
        plan = world_of(tmp_path, release).plan
        name = plan.releases[0].name
        prices = costs(plan, f"{name}.upper")
        assert prices is not None
        one = Fraction(1)
        narrow = {f"{name}.lower": Fraction(-1, 2), "max_steps": one, "max_per_step": one}
        tenth = with_bounds(plan, {**narrow, f"{name}.upper": Fraction(10)})
        measure = tenth.releases[0]
        relative = math.sqrt(measure.variance(tenth.terms(measure), plan.shares[name]))
        largest = {1: 20, 2: 21}[parts]  # grid units; for a mean, half of the range in halves
        assert prices[4] == math.ceil(SCALE * relative * largest / parts)
        assert list(prices) == sorted(prices)


def test_a_candidate_without_a_mechanism_is_the_worst(tmp_path: Path) -> None:
    plan = world_of(tmp_path, COUNT).plan
    bound = CandidateBound("max_steps", None, (Fraction(1), Fraction(9)), Fraction(1))
    first, second = noise_costs(plan, bound, [bound], 8) or ()
    assert first < second == LARGEST


@pytest.mark.parametrize("steps", [1, 8])
def test_wider_bounds_never_cost_less(steps: int, tmp_path: Path) -> None:
    plan = world_of(tmp_path, COUNT + SUM + MEAN, USERS).plan
    for bound in plan_bounds(plan):
        prices = costs(plan, bound.label, steps)
        assert prices is not None
        assert list(prices) == sorted(prices), bound.label
