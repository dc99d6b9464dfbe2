"""What a recipe spends, computed again from its variances and thresholds; and what it must not do.

The certificates of the code are compared with floats: the tail of the normal law by ``erfc``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from ameles.accounting.concentrated import zcdp_delta, zcdp_rho
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import root_up
from ameles.mechanisms.discovery import KeyDiscovery, KeyInputs
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
from ameles.mechanisms.discovery.selection_law import SelectionLaw, selection_cascade
from ameles.noise import System
from tests.mechanisms.discovery import exact_filters

RECIPES: list[dict[str, Any]] = [
    {"epsilon": 6, "delta": "1e-9", "horizon": 100, "records": 32},
    {"epsilon": 1, "delta": "1e-6", "horizon": 1000, "records": 8, "per_key": 2, "bound": 50},
    {"epsilon": "0.1", "delta": "1e-5", "horizon": 30, "records": 1, "slots": (1,), "looks": 7},
    {"epsilon": 2, "delta": "0.2", "horizon": 8, "records": 3, "slots": (5, 5, 5, 5, 5)},
]


def squared_loss(noise: EncodedNoise, square: int, touched: int) -> Fraction:
    """The rho of a change of this squared norm in so many counters, roundings included."""
    paid = root_up(square) * (1 << noise.bits) + noise.cascade.rounding * root_up(
        noise.horizon * touched
    )
    return paid**2 / (2 * noise.variance)


def crossing_bound(law: SelectionLaw) -> float:
    """The union over looks of the normal tails beyond what one user adds, from the thresholds."""
    total = 0.0
    alone = max(law.slots) << law.noise.bits
    for look, threshold in enumerate(law.thresholds, start=1):
        deviations = (threshold - alone) / math.ldexp(law.std(look), law.noise.bits)
        total += math.erfc(deviations / math.sqrt(2)) / 2
    return len(law.slots) * total


def spent(recipe: KeyDiscovery) -> float:
    """Delta at the recipe's epsilon."""
    weights = sum(weight**2 for weight in recipe.slots[: recipe.records])
    selection = squared_loss(
        recipe.selection.noise, weights, min(len(recipe.slots), recipe.records)
    )
    square = recipe.records * recipe.per_key * recipe.bound**2
    values = squared_loss(recipe.values, square, recipe.records)
    gaussian = zcdp_delta(rho=selection + values, epsilon=recipe.epsilon)
    return float(gaussian) + crossing_bound(recipe.selection)


@pytest.mark.parametrize("fields", RECIPES, ids=lambda fields: f"epsilon {fields['epsilon']}")
def test_all_parts_together_spend_delta_and_no_more(fields: dict[str, Any]) -> None:
    recipe = KeyDiscovery(**fields)
    assert spent(recipe) <= float(recipe.delta)
    assert spent(recipe) >= 0.85 * float(recipe.delta)  # nothing is given away either


@dataclass(frozen=True, kw_only=True)
class ConvertsTwice(KeyDiscovery):
    """Takes the whole delta for the conversion, and again for the thresholds."""

    @property
    def rho(self) -> Fraction:
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta)

    def selection_on(self, bits: int | None) -> SelectionLaw:
        return SelectionLaw.of(
            self.used_slots,
            self.look_count,
            rho=self.rho / 2,
            delta=Fraction(self.delta),
            bits=bits,
        )


@dataclass(frozen=True, kw_only=True)
class PaysOnce(KeyDiscovery):
    """Gives all of rho to selection, and again to values."""

    def values_on(self, cascade: Cascade, bits: int | None) -> EncodedNoise:
        change = self.bound * root_up(self.records * self.per_key)
        return EncodedNoise.of(
            cascade, self.horizon, change=change, touched=self.records, rho=self.rho, bits=bits
        )


@dataclass(frozen=True)
class OneLook(SelectionLaw):
    """Its threshold holds at one look, not at all of them."""

    @cached_property
    def z(self) -> Fraction:
        return SelectionLaw.of(self.slots, 1, rho=Fraction(1), delta=self.delta).z


@dataclass(frozen=True, kw_only=True)
class NoUnion(KeyDiscovery):
    def selection_on(self, bits: int | None) -> SelectionLaw:
        right = super().selection_on(bits)
        return OneLook(right.noise, right.slots, right.delta)


@pytest.mark.parametrize("mutant", [ConvertsTwice, PaysOnce, NoUnion])
def test_a_budget_that_is_spent_twice_is_caught(mutant: type[KeyDiscovery]) -> None:
    recipe = mutant(**RECIPES[0])
    assert spent(recipe) > float(recipe.delta)


LONE: dict[str, Any] = {
    "epsilon": 2,
    "delta": "0.2",
    "horizon": 24,
    "records": 1,
    "slots": (3,),
}


def found_alone(recipe: KeyDiscovery, keys: int) -> float:
    """The share of keys that become public, if each is named by one user at the first step."""
    run = recipe.start(System())
    numbers = run.numbers([str(number) for number in range(keys)])
    weights = np.full(keys, recipe.slots[0])
    nothing = KeyInputs.nothing(1)
    first = KeyInputs(numbers, weights, np.ones((keys, 1), dtype=np.int64))
    outs = run.feed([first, *[nothing] * (recipe.horizon - 1)])
    return outs[-1].public.size / keys


def test_keys_of_one_user_are_found_as_rarely_as_is_proven() -> None:
    # 4,000 keys at most 0.1 of which may be found: false alarm 1e-9 at 6 standard errors of 0.0048
    keys = 4000
    assert found_alone(KeyDiscovery(**LONE), keys) <= 0.1 + 6 * 0.0048
    # without the union over looks a key is found with probability 0.3 or so
    assert found_alone(NoUnion(**LONE), keys) > 0.1 + 6 * 0.0048


def test_the_smoothed_noise_has_its_standard_deviation() -> None:
    """The law that thresholds stand on, at one look, from its exact row."""
    law = SelectionLaw.of((3,), 12, rho=Fraction(1), delta=Fraction(1, 10))
    gain = Fraction(law.gain, 1 << 12)
    noise = EncodedNoise.of(
        selection_cascade(12), 12, change=Fraction(3), touched=1, rho=Fraction(1)
    )
    rows = exact_filters.smoothed(exact_filters.decoder(noise), gain)
    exact = math.sqrt(float(exact_filters.squared(rows[11]) * noise.variance)) / (1 << noise.bits)
    assert law.std(12) == pytest.approx(exact, rel=1e-9)
