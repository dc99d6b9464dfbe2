"""Cropped mean and what is made of it: exact laws of states, duplicates, estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private import cropped_mean
from ameles.mechanisms.pan_private.biased_bits import Bits, biased_bits
from ameles.mechanisms.pan_private.cropped_mean import Crop, CroppedMean, CroppedRecipe
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters, heavy_hitters
from ameles.mechanisms.pan_private.incidence import Incidence, incidence
from ameles.mechanisms.pan_private.modular import ResidueFraction
from ameles.mechanisms.pan_private.user_table import UserRecipe
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System
from ameles.noise.arrays import IntArray
from tests.mechanisms.pan_private.laws import chosen_bits, law_of, loss
from tests.mechanisms.pan_private.test_density import printed

UP, US = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION
HALF = Fraction(1, 2)
SHARED: dict[str, Any] = {"epsilon_state": "1/2", "epsilon_output": "1/2"}
State = tuple[tuple[int, ...], ...]


def state_after(recipe: CroppedRecipe, *batches: Sequence[int]) -> dict[State, float]:
    def program(noise: Noise) -> State:
        run = recipe.start(noise)
        for batch in batches:
            run.add(batch)
        _, *parts = unpack(run.snapshot(), recipe.fingerprint).parts
        return tuple(tuple(part.view(np.uint8)[: recipe.users].tolist()) for part in parts)

    return law_of(program)


def one_bit(noise: Noise, relation: Neighbours, epsilon: Fraction, count: int) -> Bits:
    return biased_bits(noise, relation, epsilon, 1).repeat(count)


@pytest.mark.parametrize("crop", [1, 2, 5])
def test_the_state_loses_exactly_epsilon_between_any_two_counts(
    monkeypatch: pytest.MonkeyPatch, crop: int
) -> None:
    # of one user's fresh bits only one is used: the others need not be enumerated
    monkeypatch.setattr(cropped_mean, "biased_bits", one_bit)
    recipe = CroppedMean(users=1, crop=crop, neighbours=UP, **SHARED)
    laws = [state_after(recipe, [0] * count) for count in range(crop + 3)]
    losses = [[loss(one, other) for other in laws] for one in laws]
    assert max(map(max, losses)) == pytest.approx(0.5)
    assert losses[0][1] == pytest.approx(0.5)
    assert losses[crop][crop + 2] == pytest.approx(0, abs=1e-12)
    for count, law in enumerate(laws):
        ones = sum(p for (_, (bit,)), p in law.items() if bit)
        assert ones == pytest.approx(0.5 + recipe.gamma * min(count, crop) / crop)


def test_substitution_moves_two_users_within_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cropped_mean, "biased_bits", chosen_bits)
    recipe = CroppedMean(users=2, crop=2, neighbours=US, epsilon_state=2, epsilon_output=1)
    streams = [[0, 0], [0, 1], [1, 1]]
    laws = [state_after(recipe, stream) for stream in streams]
    worst = max(loss(one, other) for one in laws for other in laws)
    assert worst == pytest.approx(2, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "known"), [("0.1", 0.223), ("0.25", 0.693), ("0.4", 1.609)])
def test_the_printed_bias_is_caught(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, known: float
) -> None:
    monkeypatch.setattr(cropped_mean, "biased_bits", printed)
    recipe = CroppedMean(users=1, crop=3, neighbours=UP, epsilon_state=epsilon, epsilon_output=1)
    lost = loss(state_after(recipe, [0] * 3), state_after(recipe))
    assert lost == pytest.approx(known, abs=6e-4)


def test_one_array_is_as_one_after_another() -> None:
    recipe = CroppedMean(users=2, crop=2, neighbours=UP, **SHARED)
    for stream in ([0, 0], [1, 0, 1], [0, 0, 0]):
        one_by_one = state_after(recipe, *[[user] for user in stream])
        assert state_after(recipe, stream) == pytest.approx(one_by_one)


def test_tables_share_the_state_epsilon() -> None:
    recipe = Incidence(users=1, exactly=1, neighbours=UP, epsilon_state=3, epsilon_output=1)
    laws = [state_after(recipe, [0] * count) for count in (0, 1, 2)]
    worst = max(loss(one, other) for one in laws for other in laws)
    assert worst == pytest.approx(3)
    three = Incidence(users=1, exactly=2, neighbours=UP, epsilon_state=3, epsilon_output=1)
    assert three.crops == (Crop(2, 4), Crop(1, -1), Crop(3, -3))
    assert three.share == 1


def test_weights_of_heavy_hitters() -> None:
    one = HeavyHitters(users=9, at_least=1, neighbours=UP, **SHARED)
    assert one.crops == (Crop(1, 1),)
    assert one.share == HALF
    four = HeavyHitters(users=9, at_least=4, neighbours=UP, **SHARED)
    assert four.crops == (Crop(4, 4), Crop(3, -3))
    assert four.error.scale == 7 / HALF
    first = Incidence(users=9, exactly=1, neighbours=US, **SHARED)
    assert first.crops == (Crop(1, 2), Crop(2, -2))
    assert first.error.scale == 8 / HALF


USERS = 200_000
COUNTS = np.arange(USERS) % 7


def fed(recipe: UserRecipe[Estimate]) -> Estimate:
    stream: IntArray = np.repeat(np.arange(USERS), COUNTS)
    run = recipe.start(System.direct())
    run.add(stream[::2])
    run.add(stream[1::2])
    return run.release(beta=1e-6)


@pytest.mark.parametrize("relation", [UP, US])
@pytest.mark.parametrize(
    ("build", "truth"),
    [
        (lambda **p: CroppedMean(crop=5, **p), np.minimum(COUNTS, 5).mean()),
        (lambda **p: CroppedMean(crop=300, **p), COUNTS.mean()),
        (lambda **p: HeavyHitters(at_least=3, **p), (COUNTS >= 3).mean()),
        (lambda **p: HeavyHitters(at_least=1, **p), (COUNTS >= 1).mean()),
        (lambda **p: Incidence(exactly=2, **p), (COUNTS == 2).mean()),
        (lambda **p: Incidence(exactly=1, **p), (COUNTS == 1).mean()),
        (lambda **p: heavy_hitters(at_least=3, below=7, **p), (COUNTS >= 3).mean()),
        (lambda **p: incidence(exactly=3, below=7, **p), (COUNTS == 3).mean()),
    ],
)
def test_estimates_of_200_000_users(relation: Neighbours, build: Any, truth: float) -> None:
    recipe = build(users=USERS, neighbours=relation, epsilon_state=1, epsilon_output="1/2")
    estimate = fed(recipe)
    assert estimate.low <= truth <= estimate.high  # false alarm 1e-6
    assert abs(estimate.value - truth) < 5 * estimate.standard_error  # false alarm 6e-7


def test_the_standard_error_is_the_catalogue_s() -> None:
    recipe = CroppedMean(users=200_000, crop=5, neighbours=UP, **SHARED)
    coins = 5 / (2 * recipe.gamma * math.sqrt(200_000))
    assert recipe.error.std(1) == pytest.approx(coins, rel=1e-3)


def test_the_sharper_recipe_is_chosen() -> None:
    shared: dict[str, Any] = {"users": 1000, "neighbours": UP, **SHARED}
    assert type(heavy_hitters(at_least=5, **shared)) is HeavyHitters
    assert type(heavy_hitters(at_least=5, below=9, **shared)) is ResidueFraction
    assert type(heavy_hitters(at_least=1, below=5000, **shared)) is HeavyHitters
    assert type(incidence(exactly=5, **shared)) is Incidence
    assert type(incidence(exactly=5, below=9, **shared)) is ResidueFraction
