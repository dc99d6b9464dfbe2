"""Modular incidence: the fraction of users whose count is i modulo k, for every i.

Theorem      Dwork et al. 2010, corrected (catalogue 27): per user a residue that starts at a random
             offset, 0 with probability e^a / (e^a + k - 1) and any other with 1 / (e^a + k - 1),
             and is advanced by every occurrence.  Between any two histories of one user its loss
             is exactly a, so a = epsilon_state for presence and half of it for substitution
Neighbours   USER_PRESENCE, or USER_SUBSTITUTION (two users' residues move)
Noise        the offset by rejection: a uniform residue j is kept if it is 0, else with probability
             exp(-a), which leaves weights 1 and exp(-a) for each other: the law above, after
             fewer than min(k, e^a) proposals on average.  Discrete Laplace on each bin of the
             histogram, scale 2 (substitution: 4) / epsilon_output, as a user leaves one bin for
             another
Error        with p = (e^a - 1) / (e^a + k - 1), standard deviation per residue at most
             sqrt(users * max c (1 - c) + the output's variance) / (p users), over the two chances
             c = (1 - p) / k and p + (1 - p) / k
Memory       one or two bytes per user

Occurrences can be taken back: ``remove``.  With a public promise that counts stay below k, the
residues are the counts, and a net count of zero is residue 0: ``ResidueFraction``.

Intrusions   one, unannounced.  With ``intrusions`` = J, each announced before more is added, every
             residue is moved on by a fresh offset: the views cost J * epsilon_state, and p becomes
             p^(1 + announced).

A continual version at user level cannot exist: counts modulo k vary without end (catalogue 18).

>>> from ameles.noise import System
>>> recipe = ModularIncidence(users=50_000, modulus=3, neighbours="user-presence",
...                           epsilon_state=1, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add(list(range(20_000)) * 4)
>>> found = run.release(beta=1e-9)
>>> abs(found[1].value - 0.4) < recipe.error.bound(1, 1e-9)
True
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.mechanism import Noise
from ameles.core.parameters import Parameter, Whole, refuse, whole
from ameles.mechanisms.pan_private.entries import CHUNK, kind_for, room, times
from ameles.mechanisms.pan_private.estimate import ChanceError, Estimate
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

LARGEST_MODULUS = 1 << 16
MOST_INTRUSIONS = 64
# Beyond this many proposals for each user, starting would seem to hang.
MOST_PROPOSALS = 1000
# Below this, not even 10^18 users would show.
FAINTEST = 1e-18

Out = TypeVar("Out")


@dataclass(frozen=True, kw_only=True)
class ModularRecipe(UserRecipe[Out]):
    """A table of residues, each hidden by a random offset."""

    modulus: Whole = Whole(2, LARGEST_MODULUS)
    intrusions: Whole = Whole(1, MOST_INTRUSIONS, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modulus > MOST_PROPOSALS and self.share > math.log(MOST_PROPOSALS):
            raise BadInput(
                f"A modulus of {self.modulus} at this epsilon_state takes too long to draw.",
                why=f"each user's offset would need more than {MOST_PROPOSALS} proposals",
                tip="an epsilon_state below 6",
            )
        if self.peak(self.intrusions) < FAINTEST:
            raise BadInput(
                "After so many intrusions nothing could be estimated.",
                why="each of them fades the residues by a factor that depends on epsilon_state",
                tip="fewer intrusions or a larger epsilon_state",
            )

    @property
    def seizures(self) -> int:
        """How many intrusions were declared."""
        return self.intrusions

    @property
    def share(self) -> Fraction:
        """What one user's residue loses to an intruder."""
        return self.seizure_loss / self.moved

    def peak(self, offsets: int) -> float:
        """How much more likely 0 is than the others, in a sum of this many offsets."""
        other = math.exp(-self.share)
        once = -math.expm1(-self.share) / (1 + (self.modulus - 1) * other)
        return float(once**offsets)

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the output's noise."""

    def error_over(self, offsets: int, residues: int) -> ChanceError:
        """The error of the fraction in this many residues, after this many offsets."""
        peak = self.peak(offsets)
        chance = residues * (1 - peak) / self.modulus
        chances = (chance, min(chance + peak, 1.0))
        return ChanceError(
            unit=1 / (peak * self.entries),
            variance=self.entries * max(c * (1 - c) for c in chances),
            spread=float(self.entries),
            weights=(1.0,),
            scale=self.scale,
            count=self.entries,
            chances=chances,
        )

    @property
    def memory(self) -> int:
        """A residue for each user."""
        return self.entries * np.dtype(kind_for(self.modulus)).itemsize


@dataclass(frozen=True, kw_only=True)
class ModularIncidence(ModularRecipe[tuple[Estimate, ...]]):
    """The fractions of users with each residue; each interval holds for its residue alone."""

    @property
    def scale(self) -> Fraction:
        """A user leaves one bin of the histogram for another."""
        return 2 * self.moved / self.release_loss

    @property
    def error(self) -> ChanceError:
        """The error of each fraction, where no intrusion was announced."""
        return self.error_over(1, 1)

    def _run(self, state: State, noise: Noise) -> UserRun[tuple[Estimate, ...]]:
        return _HistogramRun(self, state, noise)


class Residues(Parameter[tuple[int, ...], tuple[int, ...]]):
    """Some residues, each once, in order."""

    def check(self, value: tuple[int, ...]) -> tuple[int, ...]:
        try:
            given = [whole(i, self.name, low=0, high=LARGEST_MODULUS - 1) for i in value]
        except TypeError:
            raise refuse(self.name, "some residues, such as (0,) or range(2, 5)", value) from None
        if not given or len(set(given)) < len(given):
            raise refuse(self.name, "at least one residue, and each only once", value)
        return tuple(sorted(given))


@dataclass(frozen=True, kw_only=True)
class ResidueFraction(ModularRecipe[Estimate]):
    """The fraction of users whose count modulo ``modulus`` is one of the ``residues``.

    One number is released, not a histogram, so a user moves it by 1.  If counts are promised
    to stay below the modulus, residues (0,) are the users with net count zero, range(1, modulus)
    the others, range(k, modulus) those with at least k.
    """

    residues: Residues = Residues()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.residues[-1] >= self.modulus or len(self.residues) == self.modulus:
            raise BadInput(
                f"The 'residues' must be some, not all, of 0 to {self.modulus - 1}.",
                why="a count modulo the modulus is always one of them",
            )

    @property
    def scale(self) -> Fraction:
        """A user is in or out."""
        return self.moved / self.release_loss

    @property
    def error(self) -> ChanceError:
        """The error, where no intrusion was announced."""
        return self.error_over(1, len(self.residues))

    def _run(self, state: State, noise: Noise) -> UserRun[Estimate]:
        return _FractionRun(self, state, noise)


class ModularRun(UserRun[Out]):
    """A run whose occurrences can also be taken back."""

    _recipe: ModularRecipe[Out]

    def __init__(self, recipe: ModularRecipe[Out], state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._words, self._table = room(recipe.entries, recipe.modulus)

    def open(self) -> None:
        self._refresh()

    def remove(self, users: object) -> None:
        """Takes occurrences back, as if one after another."""
        self._take(users, -1)

    def _refresh(self) -> None:
        """Moves every residue on by a fresh offset."""
        modulus = self._recipe.modulus
        for start in range(0, self._table.size, CHUNK):
            part = self._table[start : start + CHUNK]
            drawn = offsets(self._noise, modulus, self._recipe.share, part.size)
            part[:] = (part + drawn) % modulus
            drawn.fill(0)

    def _fold(self, users: IntArray, sign: int) -> None:
        who, count = times(users)
        count *= sign
        count += self._table[who]
        self._table[who] = count % self._recipe.modulus
        who.fill(0)
        count.fill(0)

    def _offsets(self) -> int:
        return min(self._announced + 1, self._recipe.seizures)

    def _histogram(self) -> IntArray:
        bins = np.zeros(self._recipe.modulus, dtype=np.int64)
        for start in range(0, self._table.size, CHUNK):
            part = self._table[start : start + CHUNK]
            bins += np.bincount(part, minlength=bins.size)
        return bins

    def _fraction(self, noisy: int, error: ChanceError, beta: float) -> Estimate:
        middle = error.chances[0] * error.count
        return error.estimate((noisy - middle) * error.unit, beta)

    def _parts(self) -> tuple[IntArray, ...]:
        return (self._words,)


class _HistogramRun(ModularRun[tuple[Estimate, ...]]):
    def _close(self, beta: float) -> tuple[Estimate, ...]:
        error = self._recipe.error_over(self._offsets(), 1)
        bins = self._histogram()
        bins += self._noise.laplace(error.scale, bins.size)
        return tuple(self._fraction(int(noisy), error, beta) for noisy in bins)


class _FractionRun(ModularRun[Estimate]):
    _recipe: ResidueFraction

    def _close(self, beta: float) -> Estimate:
        residues = list(self._recipe.residues)
        error = self._recipe.error_over(self._offsets(), len(residues))
        noisy = int(self._histogram()[residues].sum()) + int(self._noise.laplace(error.scale, 1)[0])
        return self._fraction(noisy, error, beta)


def offsets(noise: Noise, modulus: int, share: Fraction, count: int) -> IntArray:
    """Independent offsets: 0 with weight 1, every other residue with weight exp(-share)."""
    drawn = noise.uniform(modulus, count)
    pending = np.flatnonzero(drawn)
    while pending.size:
        pending = pending[~noise.bernoulli_exp(share, pending.size)]
        if not pending.size:
            break
        drawn[pending] = noise.uniform(modulus, pending.size)
        pending = pending[drawn[pending] != 0]
    return drawn
