"""Residues at every step are refused wherever they hide, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.recipe import Recipe
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.published_answers import check_varying, parts
from ameles.mechanisms.continual.transformation import Continual, continual
from ameles.mechanisms.counters.lower_bounds import varying_bound
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.heavy_hitters import heavy_hitters
from ameles.mechanisms.pan_private.incidence import incidence
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from tests.mechanisms.continual.scripted import Scripted

SHARED: dict[str, Any] = {
    "users": 100,
    "neighbours": "user-presence",
    "epsilon_state": 1,
    "epsilon_output": 1,
}
GIVEN: dict[str, Any] = {"horizon": 64, "epsilon": 1, "sensitivity": 1}
PARITY = ResidueFraction(modulus=2, residues=(1,), **SHARED)


@dataclass(frozen=True, kw_only=True)
class Holds(Scripted):
    """An estimator with recipes among its parameters."""

    inner: Any = None


VARYING = [
    ModularIncidence(modulus=3, **SHARED),
    PARITY,
    heavy_hitters(at_least=3, below=8, **SHARED),
    incidence(exactly=3, below=8, **SHARED),
    Holds(answers=(0,), inner=PARITY),
    Holds(answers=(0,), inner=(ExactDistinct(users=3), (1, Holds(answers=(0,), inner=PARITY)))),
]


@pytest.mark.parametrize("algorithm", VARYING, ids=lambda recipe: type(recipe).__name__)
def test_residues_are_refused_with_the_theorem(algorithm: Any) -> None:
    # 3.5 = 1 for the seized state and 2.5 for publishing
    bound = varying_bound(changes=64, jump=1, users=100, epsilon=3.5)
    once = {"changes": 1, "jump": 1, **GIVEN}
    asks: tuple[Callable[[], Continual], ...] = (
        partial(continual, algorithm, **once),
        partial(continual_monotone, algorithm, highest=100, **GIVEN),
        partial(Continual, algorithm=algorithm, threshold=1, **once),
    )
    for ask in asks:
        with pytest.raises(BadInput, match="every step at user level") as caught:
            ask()
        assert "Thm 5.3" in caught.value.why
        assert f"wrong by {bound:.3g} of all users" in caught.value.why


@pytest.mark.parametrize(
    "algorithm",
    [
        ExactDistinct(users=100),
        NoisyDistinct(users=100, epsilon=1, neighbours="user-presence"),
        Holds(answers=(0,), inner=CroppedMean(crop=2, **SHARED)),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_what_only_grows_is_not_refused(algorithm: Any) -> None:
    check_varying(algorithm, steps=64, epsilon=1)
    assert continual(algorithm, changes=1, jump=1, **GIVEN).algorithm == algorithm


def test_a_recipe_that_is_no_estimator_is_refused_for_that() -> None:
    with pytest.raises(BadInput, match="an estimator"):
        continual(_given(CroppedMean(crop=2, **SHARED)), changes=1, jump=1, **GIVEN)


def _given(recipe: Any) -> Any:
    return recipe


def test_parts_are_found_in_order_and_at_every_depth() -> None:
    inner = Holds(answers=(0,), inner=PARITY)
    outer = Holds(answers=(0,), inner=(inner, 3, "ResidueFraction", None))
    assert list(parts(outer)) == [outer, inner, PARITY]
    assert list(parts(3)) == []
    assert all(isinstance(part, Recipe) for part in parts(outer))
