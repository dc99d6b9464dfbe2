"""The whole mechanism on tiny instances, with every value of every draw: exact probabilities.

A *world* is one choice of all draws.  All worlds are keys of one run of the real code, each with
users of its own, so that one run goes through all of them: keys do not influence each other.  An
instance has one or two keys, and a world is that many keys of the run.

Draws are whole counts from -reach to reach, with the probabilities of the discrete Gaussian, and
the encoder is the identity, so that a draw shifted by a count is a draw.  What the cut tails weigh
is added to every delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.discovery import DiscoveryRun, KeyDiscovery, KeyInputs, UserStates, bounded
from ameles.mechanisms.discovery.discovery_run import LIVE
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
from ameles.mechanisms.discovery.selection_law import SelectionLaw
from ameles.mechanisms.snapshot import State
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

BITS = 12
GRID = 1 << BITS
IDENTITY = Cascade(())
LOOKS = 2
# A user's records: the step and the key of each.
Records = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TinySelection(SelectionLaw):
    """Half of the way to the new value at each look, and thresholds that are given."""

    heights: tuple[Fraction, ...] = ()

    @property
    def gain(self) -> int:
        return 1 << 11

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        return tuple(math.ceil(height * GRID) for height in self.heights)


@dataclass(frozen=True, kw_only=True)
class TinyDiscovery(KeyDiscovery):
    """Two steps with a look at each; variances in counts."""

    heights: tuple[str, ...] = ("3", "4")
    selection_variance: int = 1
    value_variance: int = 1

    def selection_on(self, bits: int | None) -> SelectionLaw:
        noise = EncodedNoise(IDENTITY, LOOKS, BITS, Fraction(self.selection_variance * GRID * GRID))
        heights = tuple(Fraction(height) for height in self.heights)
        return TinySelection(noise, self.used_slots, Fraction(self.delta) / 2, heights)

    def values_on(self, cascade: Cascade, bits: int | None) -> EncodedNoise:
        # another number than that of selection, so that draws can be told apart
        variance = Fraction(self.value_variance * GRID * GRID) + 1
        return EncodedNoise(IDENTITY, LOOKS, BITS, variance)

    def _run(self, state: State, noise: Noise) -> DiscoveryRun:
        return self.run_class()(self, state, noise)

    def run_class(self) -> type[DiscoveryRun]:
        """What a mutant replaces."""
        return DiscoveryRun


def tiny(**fields: Any) -> TinyDiscovery:
    """A tiny recipe; epsilon and delta are not used."""
    return TinyDiscovery(**{"epsilon": 1, "delta": "0.1", "horizon": LOOKS, "records": 2, **fields})


@dataclass
class Alphabet:
    """All values of a draw, with their probabilities; a reach of 0 is no draw at all."""

    variance: int
    reach: int

    @cached_property
    def values(self) -> IntArray:
        return np.arange(-self.reach, self.reach + 1)

    @cached_property
    def chances(self) -> Any:
        if not self.reach:
            return np.ones(1)
        k = np.arange(-60 * self.variance, 60 * self.variance + 1)
        total = np.exp(-(k**2) / (2 * self.variance)).sum()
        return np.exp(-(self.values**2) / (2 * self.variance)) / total

    @property
    def lost(self) -> float:
        """The probability of all other values."""
        return max(0.0, 1 - float(self.chances.sum()))


@dataclass
class AllWorlds(Zero):
    """Noise that gives each key of the run the draws of its world."""

    keys: int
    selection: Alphabet
    values: Alphabet
    run: DiscoveryRun | None = None

    @cached_property
    def digits(self) -> dict[tuple[str, int, int], IntArray]:
        """For each kind of draw, step and key of the instance, the draw of every world."""
        draws = [
            (kind, step, key)
            for key in range(self.keys)
            for kind in ("selection", "values")
            for step in range(1, LOOKS + 1)
        ]
        sizes = [getattr(self, kind).values.size for kind, _, _ in draws]
        places = np.indices(sizes).reshape(len(draws), -1)
        return dict(zip(draws, places, strict=True))

    @property
    def worlds(self) -> int:
        return int(next(iter(self.digits.values())).size)

    @cached_property
    def chances(self) -> Any:
        chance = np.ones(self.worlds)
        for (kind, _, _), row in self.digits.items():
            chance *= getattr(self, kind).chances[row]
        return chance

    @property
    def lost(self) -> float:
        return float(sum(getattr(self, kind).lost for kind, _, _ in self.digits))

    def draw(self, kind: str, step: int, numbers: IntArray) -> IntArray:
        """Numbers are world times keys, plus the key."""
        drawn = np.empty(numbers.size, dtype=np.int64)
        for key in range(self.keys):
            mine = numbers % self.keys == key
            row = self.digits[kind, step, key][numbers[mine] // self.keys]
            drawn[mine] = getattr(self, kind).values[row]
        return drawn * GRID

    def gaussian(self, variance: Fraction, size: Any) -> IntArray:
        run = self.run
        assert run is not None
        steps, count = size
        if variance != run._values.law.variance:
            numbers = run._selection.numbers
            if numbers.size != count or steps != 1:  # missed looks of those that were just named
                live = np.flatnonzero(run._status == LIVE)
                born = np.setdiff1d(live, numbers)
                assert born.size == count
                return np.array(
                    [self.draw("selection", past, born) for past in range(1, steps + 1)]
                ).reshape(steps, count)
            return self.draw("selection", run._t, numbers)[None, :]
        return self.draw("values", run._t, run._public_numbers)[None, :]


def outcomes(recipe: TinyDiscovery, users: list[Records], noise: AllWorlds) -> IntArray:
    """What every world publishes: for each key and step whether it is public, and its value.

    Without draws for values there is nothing to count: then all amounts are 0.
    """
    run = recipe.start(noise)
    noise.run = run
    keys, worlds = noise.keys, noise.worlds
    run.numbers([f"{number:09d}" for number in range(worlds * keys)])
    states = UserStates.empty(worlds * len(users))
    shown = np.full((worlds * keys, LOOKS), np.iinfo(np.int64).min)
    for step in range(1, LOOKS + 1):
        rows = [
            (user, key)
            for user, records in enumerate(users)
            for when, key in records
            if when == step
        ]
        world = np.repeat(np.arange(worlds), len(rows))
        user = np.tile(np.array([u for u, _ in rows], dtype=np.int64), worlds)
        key = np.tile(np.array([k for _, k in rows], dtype=np.int64), worlds)
        zeros = np.zeros(world.size, dtype=np.int64)
        inputs, states = bounded(
            recipe,
            run.public,
            user=world * len(users) + user,
            number=world * keys + key,
            cell=zeros,
            amount=zeros + (noise.values.reach > 0),
            earlier=states,
        )
        out = run.step(inputs if rows else KeyInputs.nothing(1))
        shown[out.public, step - 1] = out.values[:, 0]
    return shown.reshape(worlds, keys * LOOKS)


def deltas(
    recipe: TinyDiscovery,
    others: list[Records],
    user: Records,
    epsilons: list[float],
    *,
    keys: int = 1,
    reach: int = 4,
    value_reach: int = 0,
) -> list[tuple[float, float]]:
    """The exact delta at each epsilon, in both directions, with what the cut tails weigh."""
    noise = AllWorlds(
        keys,
        Alphabet(recipe.selection_variance, reach),
        Alphabet(recipe.value_variance, value_reach),
    )
    without, with_user = (outcomes(recipe, users, noise) for users in (others, [*others, user]))
    both = np.concatenate([without, with_user])
    _, place = np.unique(both, axis=0, return_inverse=True)
    place = place.reshape(-1)
    first, second = (
        np.bincount(places, weights=noise.chances, minlength=int(place.max()) + 1)
        for places in (place[: noise.worlds], place[noise.worlds :])
    )
    found = []
    for epsilon in epsilons:
        odds = math.exp(epsilon)
        one = np.maximum(first - odds * second, 0).sum() + noise.lost
        other = np.maximum(second - odds * first, 0).sum() + noise.lost
        found.append((float(one), float(other)))
    return found


def crossing(recipe: TinyDiscovery, user: Records, *, keys: int = 1, reach: int = 4) -> float:
    """The probability that any key is found, if one user alone names keys."""
    noise = AllWorlds(keys, Alphabet(recipe.selection_variance, reach), Alphabet(1, 0))
    shown = outcomes(recipe, [user], noise)
    found = (shown != np.iinfo(np.int64).min).any(axis=1)
    return float(noise.chances[found].sum()) + noise.lost
