"""Cropped mean: how often users occurred on average, each counted at most ``crop`` times.

Theorem      Dwork et al. 2010 (catalogue 24): per user a clock, uniform on 0 .. crop - 1 at first,
             and a fair bit.  An occurrence advances the clock; as it comes round to 0 the bit is
             overwritten by one that is 1 with probability 1/2 + gamma.  It comes round with
             probability min(count, crop) / crop, the clock stays uniform, and the state's loss
             between any two counts is exactly epsilon_state
Neighbours   USER_PRESENCE or USER_SUBSTITUTION, with gamma and output noise as for the density
Noise        exact coins; discrete Laplace of scale 1 (substitution: 2) / epsilon_output on the sum
Error        standard deviation at most crop * sqrt(users / 4 + the output's variance)
             / (gamma users)
Memory       two bytes per user for a crop up to 256, at most five

One intrusion, unannounced or announced: a clock that is seen again after more was added reveals
how often its user occurred.  With more, use ``ModularIncidence``, whose noise can be renewed.

>>> from ameles.noise import System
>>> recipe = CroppedMean(users=50_000, crop=4, neighbours="user-presence",
...                      epsilon_state=1, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add(list(range(25_000)) * 6)
>>> abs(run.release(beta=1e-9).value - 2) < recipe.error.bound(1, 1e-9)
True
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.pan_private.biased_bits import bias, biased_bits, fair_bits
from ameles.mechanisms.pan_private.entries import CHUNK, kind_for, room, times
from ameles.mechanisms.pan_private.erase import moved, only
from ameles.mechanisms.pan_private.estimate import Estimate, EstimateError
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

LARGEST_CROP = 1 << 20


@dataclass(frozen=True, slots=True)
class Crop:
    """One table: where it crops, and the weight of its sum in the released number."""

    at: int
    weight: int


@dataclass(frozen=True, kw_only=True)
class CroppedRecipe(UserRecipe[Estimate]):
    """A combination of cropped means, each with a table and a share of epsilon_state.

    One noisy number is released, the weighted sum of all bits: a user moves it by the sum of
    the absolute weights.
    """

    @property
    @abstractmethod
    def crops(self) -> tuple[Crop, ...]:
        """The tables."""

    @property
    def worth(self) -> int:
        """The estimate is this times what the bits say."""
        return 1

    @property
    def top(self) -> float:
        """The largest value that the statistic can have."""
        return 1.0

    @property
    def share(self) -> Fraction:
        """What each table loses to an intruder."""
        return self.seizure_loss / len(self.crops)

    @property
    def gamma(self) -> float:
        """How far from 1/2 a bit is once its clock has come round."""
        return bias(self.relation, float(self.share))

    @property
    def error(self) -> EstimateError:
        """The error of a release."""
        squares = float(sum(crop.weight**2 for crop in self.crops))
        reach = sum(abs(crop.weight) for crop in self.crops)
        return EstimateError(
            unit=self.worth / (self.gamma * self.entries),
            variance=self.entries * squares / 4,
            spread=self.entries * squares,
            weights=(1.0,),
            scale=self.moved * reach / self.release_loss,
            coins=tuple((float(crop.weight), self.entries / 4) for crop in self.crops),
        )

    @property
    def memory(self) -> int:
        """A clock and a bit for each user and table."""
        clocks = sum(np.dtype(kind_for(crop.at)).itemsize for crop in self.crops)
        return self.entries * (clocks + len(self.crops))

    def _empty_run(self, state: State, noise: Noise) -> CroppedRun:
        return CroppedRun(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class CroppedMean(CroppedRecipe):
    """The mean over all users of min(occurrences, crop)."""

    crop: Whole = Whole(1, LARGEST_CROP)

    @property
    def crops(self) -> tuple[Crop, ...]:
        """One table."""
        return (Crop(self.crop, 1),)

    @property
    def worth(self) -> int:
        """The clock comes round for a fraction min(count, crop) / crop."""
        return self.crop

    @property
    def top(self) -> float:
        """Everyone ``crop`` times."""
        return float(self.crop)


class CroppedRun(UserRun[Estimate]):
    """A run: a clock and a bit for each user and table."""

    _recipe: CroppedRecipe

    def __init__(self, recipe: CroppedRecipe, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        clocks = [room(recipe.entries, crop.at) for crop in recipe.crops]
        bits = [room(recipe.entries, 2) for _ in recipe.crops]
        self._words = tuple(words for words, _ in clocks + bits)
        self._clocks = tuple(clock for _, clock in clocks)
        self._bits = tuple(bit for _, bit in bits)

    def open(self) -> None:
        self.check_live()
        for crop, clock, bit in zip(self._recipe.crops, self._clocks, self._bits, strict=True):
            for start in range(0, bit.size, CHUNK):
                part = slice(start, min(start + CHUNK, bit.size))
                moved(clock[part], self._noise.uniform(crop.at, part.stop - start))
                moved(bit[part], fair_bits(self._noise, part.stop - start))

    def ones(self) -> int:
        """The weighted sum of the bits without noise, which must not be published; one user moves
        it by the sum of the absolute weights."""
        self.check_live()
        return sum(
            crop.weight * int(np.count_nonzero(bit))
            for crop, bit in zip(self._recipe.crops, self._bits, strict=True)
        )

    def _fold(self, users: IntArray, sign: int) -> None:
        recipe = self._recipe
        size = users.size
        who, count = times(users)
        for crop, clock, bit in zip(recipe.crops, self._clocks, self._bits, strict=True):
            # A bit for each occurrence, so that the time depends only on their number.
            fresh = biased_bits(self._noise, recipe.relation, recipe.share, size)
            later = clock[who] + count
            clock[who] = later % crop.at
            # Coming round twice is the same as once: only the last bit stays.
            bit[who] = np.where(later >= crop.at, fresh[: who.size], bit[who])
            later.fill(0)
            fresh.fill(0)
        who.fill(0)
        count.fill(0)

    def _close(self, beta: float) -> Estimate:
        recipe = self._recipe
        error = recipe.error
        noisy = only(self._noise.laplace(error.scale, 1)) + self.ones()
        middle = recipe.entries / 2 * sum(crop.weight for crop in recipe.crops)
        return error.estimate((noisy - middle) * error.unit, beta, top=recipe.top)

    def _table_parts(self) -> tuple[IntArray, ...]:
        return self._words
