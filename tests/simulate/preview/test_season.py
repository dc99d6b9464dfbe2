"""A made-up season: a wave of about as many events as somebody expects, within the bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ameles.measures.sum import Sum
from ameles.plan.plan import read_plan_text
from ameles.simulate.preview.season import can_be_drawn, clamped_mean, events, inputs, wave
from tests.simulate.preview.test_preview import USERS


def test_a_made_up_value_is_clamped_as_the_engine_clamps() -> None:
    """Even between 0 and 100, clamped to 50: half of them are 50, the others 25 on average."""

    def ages(upper: int) -> Sum:
        return Sum(
            name="s",
            measure="sum",
            column="age",
            lower=Fraction(0),
            upper=Fraction(upper),
            granularity=Fraction(1),
        )

    own = ages(100)
    means = [clamped_mean(own, ages(upper)) for upper in (100, 50, 200)]
    assert means == [50, Fraction(75, 2), 50]
    made = inputs(ages(50), own, 10, 100)
    assert (made == np.rint(events(own, 10, 100) * 37.5)).all()


def test_a_wave_comes_and_goes() -> None:
    busy = wave(100)
    assert 40 <= int(busy.argmax()) <= 49
    assert busy[0] < 0.3
    assert busy[-1] < busy[78] < busy.max()
    assert wave(1).tolist() == [wave(100)[0]]


def test_each_step_has_its_events_and_the_first_key_has_most_of_them() -> None:
    visits = read_plan_text(USERS).releases[0]
    made = events(visits, 60, 1000)
    assert made.shape == (60, 2)
    assert np.abs(made.sum(axis=1) - 1000 * wave(60)).max() <= 1
    assert (made[:, 0] > made[:, 1]).all()


def test_a_mean_has_its_sums_and_then_its_counts() -> None:
    plan = read_plan_text(USERS)
    ages = plan.releases[1]
    made = inputs(ages, ages, 10, 100)
    counts = events(ages, 10, 100)
    assert made.shape == (10, 2 * counts.shape[1])
    assert not made[:, 0].any(), "values are even, so that their sum around the middle is zero"
    assert (made[:, 1] % counts[:, 0] == 0).all()


def test_counters_can_be_drawn_and_other_things_cannot() -> None:
    plan = read_plan_text(USERS)
    assert all(can_be_drawn(recipe) for recipe in plan.recipes.values())
    assert not can_be_drawn(object())
