"""Output noise under substitution: whether half of it would be noticed, table by table.

A user whose occurrences become another's moves two entries.  A residue moves from one place to
another, so both of them can move the output the same way: all of the noise is needed.  A bit
that is overwritten is a fresh coin in either stream, and the same coin can serve both: of two
entries only one differs in what they add up to.  There half of the noise is enough, and the
other half is the catalogue's caution.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ameles.core.loss import Pure
from ameles.mechanisms.pan_private import cropped_mean, density, residue_table
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.incidence import Incidence
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.mechanisms.pan_private.user_table import UserRecipe
from tests.mechanisms.pan_private.laws import chosen_bits
from tests.mechanisms.pan_private.outputs import substitutions, view_loss, views_of
from tests.mechanisms.pan_private.tables import chosen_offsets

SHARED: dict[str, Any] = {
    "users": 2,
    "neighbours": "user-substitution",
    "epsilon_state": "1/2",
    "epsilon_output": "1/2",
}
DYNAMIC = DynamicDensity(primes_from=2, **SHARED)
ALL, HALF = Fraction(1), Fraction(1, 2)
SHORT = ((1, 0), (0, 1), (1, 1))
LONG = (*SHORT, (1, 2), (2, 1))


@pytest.fixture(autouse=True)
def few_tapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "biased_bits", chosen_bits)
    monkeypatch.setattr(cropped_mean, "biased_bits", chosen_bits)
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)


def worst(
    recipe: UserRecipe[Any], lengths: tuple[tuple[int, int], ...], *parts: Fraction
) -> list[float]:
    """The largest loss over all substitutions, with each part of the output's noise."""
    worth = None
    if isinstance(recipe, DynamicDensity):
        worth = lambda run: DYNAMIC.error_given(run.modulus, 1).unit
    pairs = [pair for before, after in lengths for pair in substitutions(before, after)]
    views = views_of(recipe, {stream for pair in pairs for stream in pair}, worth)
    return [
        max(view_loss(views[one], views[other], recipe.error.scale * part) for one, other in pairs)
        for part in parts
    ]


@pytest.mark.parametrize(
    "recipe",
    [
        ResidueFraction(modulus=2, residues=(0,), **SHARED),
        ResidueFraction(modulus=3, residues=(0,), **SHARED),
        ModularIncidence(modulus=2, **SHARED),
        ModularIncidence(modulus=3, **SHARED),
        DYNAMIC,
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_half_of_the_noise_on_residues_is_caught(recipe: UserRecipe[Any]) -> None:
    assert recipe.guarantee.loss == Pure(1)
    assert worst(recipe, LONG, ALL, HALF) == pytest.approx([1, 1.5])


@pytest.mark.parametrize(
    ("recipe", "lengths", "whole", "half"),
    [
        (Density(**SHARED), LONG, 0.75, 1.0),
        (CroppedMean(crop=2, **SHARED), LONG, 0.75, 1.0),
        (HeavyHitters(at_least=2, **SHARED), SHORT, 0.5833, 0.7503),
        (Incidence(exactly=1, **SHARED), SHORT, 0.625, 0.7809),
    ],
    ids=["Density", "CroppedMean", "HeavyHitters", "Incidence"],
)
def test_half_of_the_noise_on_bits_would_do(
    recipe: UserRecipe[Any], lengths: tuple[tuple[int, int], ...], whole: float, half: float
) -> None:
    assert recipe.guarantee.loss == Pure(1)
    assert worst(recipe, lengths, ALL, HALF) == pytest.approx([whole, half], abs=5e-5)
    assert half <= 1


def test_a_third_of_the_noise_on_bits_is_caught() -> None:
    assert worst(Density(**SHARED), LONG, Fraction(1, 3)) == pytest.approx([1.25])
