"""Density: the fraction of a universe of users who have appeared, from a table of noisy bits.

Theorem      Dwork et al. 2010 with the biases and the estimator corrected (catalogue 23): a bit
             per user, fair at first, overwritten at each occurrence by one that is 1 with
             probability 1/2 + gamma.  Whoever sees the table once and every release learns
             epsilon_state + releases * epsilon_output
Neighbours   USER_PRESENCE: gamma = (1 - exp(-epsilon_state)) / 2; USER_SUBSTITUTION:
             gamma = tanh(epsilon_state / 2) / 2, and twice the output noise
Noise        exact coins; discrete Laplace of scale 1 (substitution: 2) / epsilon_output on the sum
Error        standard deviation at most sqrt(users / 4 + the output's variance) / (gamma users)
Memory       a byte per user and declared intrusion

A bit is overwritten, never kept or ORed: its law must be the same after one occurrence and many.

Intrusions   one, unannounced.  Two views of one table would show whose bit has changed, which
             loses everything.  With ``intrusions`` = J, each announced before more is added, a
             seen table is left as it is and the next one starts from fair bits: the views cost
             J * epsilon_state.  Users absent from all tables are estimated by the product of
             (1/2 + gamma - bit) / gamma over their bits, which is unbiased; its deviation grows
             by a factor of about 1 / (2 gamma) with each intrusion that happens.

>>> from ameles.noise import System
>>> recipe = Density(users=100_000, neighbours="user-presence", epsilon_state=1, epsilon_output=1)
>>> print(recipe.guarantee.loss)
epsilon 2
>>> run = recipe.start(System.direct())
>>> run.add(list(range(25_000)) * 2)
>>> abs(run.release(beta=1e-9).value - 0.25) < recipe.error.bound(1, 1e-9)
True
>>> round(recipe.error.std(1), 5)
0.005
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.biased_bits import bias, biased_bits, fair_bits
from ameles.mechanisms.pan_private.entries import CHUNK, Entries, room
from ameles.mechanisms.pan_private.erase import moved, only, wipe
from ameles.mechanisms.pan_private.estimate import Estimate, EstimateError
from ameles.mechanisms.pan_private.intrusions import Seizures
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

MOST_INTRUSIONS = 8


@dataclass(frozen=True, kw_only=True)
class Density(UserRecipe[Estimate]):
    """The fraction of users who have appeared at least once."""

    intrusions: Seizures = Seizures(1, MOST_INTRUSIONS, 1)

    @property
    def seizures(self) -> int:
        """How many intrusions were declared."""
        return self.intrusions

    @property
    def gamma(self) -> float:
        """How far from 1/2 the bits of the present are."""
        return bias(self.relation, float(self.seizure_loss))

    @property
    def error(self) -> EstimateError:
        """The error of a release from the first table."""
        return self.error_over(1)

    def error_over(self, tables: int) -> EstimateError:
        """The error of a release that uses this many tables.

        Of one table the noisy number is the sum of bits.  Of more it is the histogram of all
        users' patterns of bits, in which a user moves from one bin to another.
        """
        gamma, entries = self.gamma, self.entries
        if tables == 1:
            return EstimateError(
                unit=1 / (gamma * entries),
                variance=entries / 4,
                spread=float(entries),
                weights=(1.0,),
                scale=self.moved / self.release_loss,
                coins=((1.0, entries / 4),),
            )
        # The users absent from every table vary most: E a^2 = 1 + 1 / (4 gamma^2) for one factor.
        largest = (0.5 + gamma) / gamma
        return EstimateError(
            unit=1 / entries,
            variance=entries * ((1 + 1 / (4 * gamma**2)) ** tables - 1),
            spread=entries * (largest ** (tables - 1) / gamma) ** 2,
            weights=tuple(absences(gamma, tables)),
            scale=2 * self.moved / self.release_loss,
        )

    @property
    def memory(self) -> int:
        """A byte for each user and table."""
        return self.entries * self.seizures

    def _empty_run(self, state: State, noise: Noise) -> DensityRun:
        return DensityRun(self, state, noise)


class DensityRun(UserRun[Estimate]):
    """A run: a table of bits, one more for each intrusion that was announced."""

    _recipe: Density

    def __init__(self, recipe: Density, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        rooms = [room(recipe.entries, 2) for _ in range(recipe.seizures)]
        self._words = tuple(words for words, _ in rooms)
        self._tables = tuple(bits for _, bits in rooms)
        self._gamma = recipe.gamma

    def open(self) -> None:
        self.check_live()
        self._draw(self._tables[0])

    def ones(self) -> int:
        """The sum of the bits of a run without announced intrusions: before its noise, so not
        to be published; one user moves it by 1, after an intrusion by no more."""
        self.check_live()
        return int(np.count_nonzero(self._tables[0]))

    def _refresh(self) -> None:
        # Drawn now, not at the start: an intruder would have seen bits that were drawn ahead.
        self._draw(self._tables[self._announced])

    def _draw(self, table: Entries) -> None:
        for start in range(0, table.size, CHUNK):
            part = table[start : start + CHUNK]
            moved(part, fair_bits(self._noise, part.size))

    def _fold(self, users: IntArray, sign: int) -> None:
        recipe = self._recipe
        bits = biased_bits(self._noise, recipe.relation, recipe.seizure_loss, users.size)
        # If a user occurs twice, numpy writes the last bit, like two separate calls.
        self._tables[self._announced][users] = bits
        bits.fill(0)

    def _close(self, beta: float) -> Estimate:
        tables = min(self._announced + 1, len(self._tables))
        error = self._recipe.error_over(tables)
        if tables == 1:
            noisy = self.ones() + only(self._noise.laplace(error.scale, 1))
            return self._given(error, (noisy - self._recipe.entries / 2) * error.unit, beta)
        bins = np.zeros(1 << tables, dtype=np.int64)
        for start in range(0, self._recipe.entries, CHUNK):
            pattern = np.zeros(min(CHUNK, self._recipe.entries - start), dtype=np.int64)
            for j, table in enumerate(self._tables[:tables]):
                pattern |= table[start : start + CHUNK].astype(np.int64) << j
            bins += np.bincount(pattern, minlength=bins.size)
            wipe(pattern)
        drawn = self._noise.laplace(error.scale, bins.size)
        bins += drawn
        wipe(drawn)
        absent = float(np.dot(bins, absences(self._gamma, tables))) * error.unit
        # The noisy bins do not sum to the number of users, which is public.
        return self._given(error, 1 - absent, beta)

    def _given(self, error: EstimateError, fraction: float, beta: float) -> Estimate:
        """What is published about the fraction of entries that were hit."""
        return error.estimate(fraction, beta)

    def _table_parts(self) -> tuple[IntArray, ...]:
        return self._words


def absences(gamma: float, tables: int) -> list[float]:
    """For each pattern of a user's bits, first table lowest, the estimate of "never seen"."""
    weights = [1.0]
    for _ in range(tables):
        weights = [w * ((0.5 + gamma - bit) / gamma) for bit in (0, 1) for w in weights]
    return weights
