"""``distinct``: what a user pays, and where it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.guarantee import USER, user_window
from ameles.core.loss import Pure
from tests.measures.asked import EVENTS, asked, largest_change, measure, published, terms

FIELDS: dict[str, Any] = {}


@pytest.mark.parametrize(("over", "once", "steps"), [("total", "life", 1), ("step", "step", 5)])
def test_a_user_counts_once(over: str, once: str, steps: int) -> None:
    release = measure("distinct", over=over, by={"region": ["north", "south"]})
    assert release.question.once == once
    window = 1 if over == "step" else None
    on = terms(unit=USER, per_step=7, max_steps=5, window=window, horizon=100)
    recipe = release.recipe(on, Pure(1))
    assert (recipe.contributions, recipe.bound) == (steps, 1)
    assert str(recipe.guarantee.unit) == "one user"
    assert largest_change(release, EVENTS) == release.reach == 1
    answer = published(release, on, asked(release)[:, :2])
    assert answer.value.shape == (3, 2)


def test_single_events_have_no_users() -> None:
    (refusal,) = measure("distinct").refusals(terms(), weighted=False)
    assert (refusal.key, refusal.what) == ("measure", "It needs a unit that is a user.")


@pytest.mark.parametrize("unit", [USER, user_window(30)])
def test_a_window_that_moves_is_refused(unit: object) -> None:
    (refusal,) = measure("distinct", over="7d").refusals(terms(unit=unit, window=7), weighted=False)
    assert (refusal.key, refusal.what) == ("over", "It must be total or step.")
    for over, window in (("total", None), ("step", 1)):
        release = measure("distinct", over=over)
        assert not list(release.refusals(terms(unit=unit, window=window), weighted=False))
