"""Shapes of the pan-private counter with shares by place: what is spent, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.measures.counter_choice import Span, chosen
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_search import best_shape
from ameles.mechanisms.pan_private.place_shape import LADDER, LAST
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System
from tests.mechanisms.pan_private.places import place


def test_every_event_spends_all_of_epsilon() -> None:
    for horizon in (1, 64, 365, 2**20):
        shape = best_shape(horizon)
        paths = {0: Fraction(0)}  # what was spent above, by the rung that is left
        for level in range(shape.levels - 1, -1, -1):
            spent: dict[int, Fraction] = {}
            for rung, above in paths.items():
                for at in range(shape.radices[level]):
                    total = above + shape.share(level, rung, at)
                    assert spent.setdefault(shape.below(level, rung, at), total) == total
            paths = spent
        assert set(paths.values()) == {Fraction(1)}
    assert all(one > other for one, other in pairwise(LADDER))


@pytest.mark.parametrize(
    "given",
    [
        {"radices": (2, 2)},
        {"rungs": (3,)},
        {"radices": (), "rungs": ()},
        {"radices": (2, 3), "rungs": (3, 3)},  # 6 steps
        {"radices": (3, 4), "rungs": (3, 3, 3)},  # the last node would be empty
        {"radices": (3, 3), "rungs": (3,)},
        {"radices": (3, 3), "rungs": (3, 3, 0)},
        {"radices": (3, 3), "rungs": (-1, 3)},
        {"radices": (3, 3), "rungs": (LAST + 1, 3)},
        {"radices": (2, 2, 2), "rungs": (60, 60)},
        {"radices": (1, 8), "rungs": (3,) * 7},
    ],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        place(horizon=8, **given)


def test_noise_that_does_not_fit_into_64_bits_is_refused_and_the_tree_is_chosen() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        place(epsilon="1e-9", horizon=2**20)
    span = Span(window=None, horizon=2**20)
    asked: dict[str, Any] = {"width": 1, "intrusions": Intrusions.ONE}
    assert isinstance(chosen(span, epsilon=Fraction(1), **asked), PanPrivatePlaceCounter)
    small = chosen(span, epsilon=Fraction(1, 10**9), **asked)
    assert isinstance(small, PanPrivateTreeCounter)
    assert small.epsilon == Fraction(1, 10**9)


def test_the_recipe_keeps_its_shape() -> None:
    recipe = place(horizon=1000)
    text = recipe.to_json()
    assert recipe_from_json(text) == recipe
    assert '"radices":[10,10,10]' in text
    assert recipe.memory == 9


def test_extreme_parameters() -> None:
    for given in (
        {"epsilon": 1000, "horizon": 100},
        {"epsilon": "1e-6", "horizon": 100, "contributions": 100, "bound": 1000},
        {"epsilon": 1, "horizon": 2**40},
    ):
        recipe = place(**given)
        run = recipe.start(System.direct())
        run.feed([1] * 30)
        assert recipe.error.std(recipe.horizon) >= 0
        assert recipe.error.bound(recipe.horizon // 2, 0.05) >= 0
        assert recipe.error.bound_all(recipe.horizon, 0.05) >= recipe.error.bound(1, 0.05)
