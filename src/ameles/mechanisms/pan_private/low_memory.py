"""Density in little memory: bits for a public random sample of users, or for hashed buckets.

Theorem      catalogue 29: which users have which bit is drawn before the stream and says nothing
             about it, so a user's loss is that of ``Density``.  A sample of m users is as dense
             as the universe up to an error of order 1 / (2 sqrt(m)).  In m buckets, D users hit
             1 - (1 - 1/m)^D of them on average, which is inverted
Neighbours   USER_PRESENCE or USER_SUBSTITUTION, as for the density
Noise        as for the density, with m in the place of the number of users
Error        the density's for m users, and that of the sample (Hoeffding's bound holds without
             replacement) or of the buckets (whose hits are negatively associated)
Memory       nine bytes per sampled user (who, and the bit); one byte per bucket

It keeps bits of a sample that does not depend on the data, never sampled data, so it is
pan-private.  The hash mixes the user with 128 random bits; only the estimate needs it to behave
like a random function.

>>> from ameles.noise import System
>>> recipe = SampledDensity(users=10**12, sample=20_000, neighbours="user-presence",
...                         epsilon_state=1, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add([3, 10**12 - 1])
>>> run.release(beta=1e-9).value < recipe.error.bound(1, 1e-9)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.pan_private.density import Density, DensityRun
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.pan_private.estimate import Estimate, EstimateError
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray, Words

# The shifts and factors of a round of splitmix64.
_ROUND = tuple(
    (np.uint64(shift), np.uint64(factor))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
)


@dataclass(frozen=True, kw_only=True)
class _Reduced(Density):
    """A density whose entries stand for more users than there are entries."""

    def error_over(self, tables: int) -> EstimateError:
        """The bits' error, and that of which users have them.

        The second is a mean over the entries of independent parts of range 1, or of parts that
        vary less than independent ones; here in units of the noisy number.
        """
        error = super().error_over(tables)
        each = 1 / (error.unit * self.entries)
        return EstimateError(
            unit=error.unit,
            variance=error.variance + self.entries * each**2 / 4,
            spread=error.spread + self.entries * each**2,
            weights=error.weights,
            scale=error.scale,
            coins=error.coins,
            rest=self.entries * each**2 / 4,
        )


@dataclass(frozen=True, kw_only=True)
class SampledDensity(_Reduced):
    """The fraction of users who have appeared, estimated from ``sample`` of them."""

    sample: Whole = Whole(1, 1 << 30)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 2 * self.sample > self.users:
            raise BadInput(
                f"A sample must be at most half of the users. Got {self.sample} of {self.users}.",
                why="the list of who is in it takes more memory than a bit for everyone",
                tip="Density, without a sample",
            )

    @property
    def entries(self) -> int:
        """One for each sampled user."""
        return self.sample

    @property
    def memory(self) -> int:
        """The bits, and who has them."""
        return super().memory + 8 * self.sample

    def _empty_run(self, state: State, noise: Noise) -> DensityRun:
        return _SampledRun(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class BucketDensity(_Reduced):
    """The fraction of users who have appeared, estimated from the ``buckets`` that they hit.

    >>> from ameles.noise import System
    >>> recipe = BucketDensity(users=10**12, buckets=20_000, neighbours="user-presence",
    ...                        epsilon_state=1, epsilon_output=1)
    >>> run = recipe.start(System.direct())
    >>> run.add([3, 10**12 - 1])
    >>> run.release(beta=1e-9).low
    0.0
    """

    buckets: Whole = Whole(2, 1 << 30)

    @property
    def entries(self) -> int:
        """One for each bucket."""
        return self.buckets

    @property
    def memory(self) -> int:
        """The bits, and the hash."""
        return super().memory + 16

    def fraction(self, hit: float) -> float:
        """The fraction of users who hit this fraction of the buckets: infinite from 1 on."""
        if hit >= 1:
            return math.inf
        return math.log1p(-hit) / math.log1p(-1 / self.buckets) / self.users

    def hits(self, fraction: float) -> float:
        """The fraction of the buckets that this fraction of the users hit, on average."""
        return -math.expm1(fraction * self.users * math.log1p(-1 / self.buckets))

    def bent(self, hit: float, error: EstimateError) -> float:
        """By how much the inverse of a noisy number is too large on average, to second order.

        The variance is that of the noise, with the hash's for as many users as there seem to be.
        """
        missed = min(max(1 - hit, 1 / self.buckets), 1.0)
        hashed = missed * (1 - (1 - math.log(missed)) * missed) / self.buckets
        variance = error.std(1) ** 2 - 1 / (4 * self.buckets) + hashed
        curve = -1 / (math.log1p(-1 / self.buckets) * self.users)
        # Where the noise is as large as what is left, an expansion says nothing.
        return curve * variance / (2 * max(missed**2, 4 * variance))

    @property
    def error(self) -> BucketError:
        """The error of a fraction of users, for the worst: all of them have appeared."""
        hits = self.error_over(1)
        return BucketError(
            unit=hits.unit,
            variance=hits.variance,
            spread=hits.spread,
            weights=hits.weights,
            scale=hits.scale,
            recipe=self,
        )

    def _empty_run(self, state: State, noise: Noise) -> DensityRun:
        return _BucketRun(self, state, noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketError(EstimateError):
    """The error of a fraction of users that was computed from a fraction of hit buckets.

    The more buckets are hit, the more users one more of them stands for.
    """

    recipe: BucketDensity

    @property
    def hits(self) -> EstimateError:
        """The error of the fraction of hit buckets."""
        return self.recipe.error_over(1)

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation if all users have appeared, to first order."""
        missed = max(1 - self.recipe.hits(1.0), 1 / self.recipe.buckets)
        slope = self.recipe.buckets / (missed * self.recipe.users)
        return min(self.hits.std(t) * slope, 1.0)

    def margins(self, beta: float) -> tuple[float, float]:
        """Those of the worst number of users, all: a release is at most 1, and the inverse is
        convex."""
        least = self.recipe.hits(1.0) - max(self.hits.margins(beta))
        least = min(least, 1 - 1 / self.recipe.buckets)
        margin = 1.0 - self.recipe.fraction(least) + self.recipe.bent(least, self.hits)
        return margin, margin


class _SampledRun(DensityRun):
    _recipe: SampledDensity

    def __init__(self, recipe: SampledDensity, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._sample: IntArray = np.zeros(recipe.sample, dtype=np.int64)

    def open(self) -> None:
        super().open()
        self._sample[:] = distinct(self._noise, self._recipe.users, self._recipe.sample)

    def _fold(self, users: IntArray, sign: int) -> None:
        users.sort()  # their order does not matter, and sorted users are close together in memory
        place = np.searchsorted(self._sample, users)
        np.minimum(place, self._sample.size - 1, out=place)
        kept = place[self._sample[place] == users]
        super()._fold(kept, sign)
        place.fill(0)
        kept.fill(0)

    def _table_parts(self) -> tuple[IntArray, ...]:
        return (*super()._table_parts(), self._sample)


class _BucketRun(DensityRun):
    _recipe: BucketDensity

    def __init__(self, recipe: BucketDensity, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._key: IntArray = np.zeros(2, dtype=np.int64)

    def open(self) -> None:
        super().open()
        # Two draws below 2^63 and their two highest bits: all 128 of them.
        self._key[:] = self._noise.uniform(1 << 63, 2) - (self._noise.uniform(2, 2) << 63)

    def _fold(self, users: IntArray, sign: int) -> None:
        bucket = buckets(users, self._key, self._recipe.buckets)
        super()._fold(bucket, sign)
        bucket.fill(0)

    def _given(self, error: EstimateError, fraction: float, beta: float) -> Estimate:
        hit = error.estimate(fraction, beta)
        recipe = self._recipe
        value = min(recipe.fraction(fraction) - recipe.bent(fraction, error), 1.0)
        # How fast the inverse grows at the estimate: the standard error to first order.
        slope = recipe.buckets / (max(1 - fraction, 1 / recipe.buckets) * recipe.users)
        return Estimate(
            value=value,
            standard_error=hit.standard_error * slope,
            low=min(recipe.fraction(hit.low), 1.0),
            high=min(recipe.fraction(hit.high), 1.0),
            confidence=hit.confidence,
        )

    def _table_parts(self) -> tuple[IntArray, ...]:
        return (*super()._table_parts(), self._key)


def distinct(noise: Noise, users: int, count: int) -> IntArray:
    """A uniformly random set of ``count`` users, in order.

    As many are drawn as are missing until none is: users are alike to every round, so the set
    is uniform given its size, and in the end its size is given.  A round that brings nothing
    new (noise without randomness brings no other) leaves the rest to ``_others``.
    """
    drawn: IntArray = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        grown = np.union1d(drawn, noise.uniform(users, count - drawn.size))
        if grown.size == drawn.size:
            return np.union1d(drawn, _others(noise, users, drawn, count - drawn.size))
        drawn = grown
    return drawn


def _others(noise: Noise, users: int, drawn: IntArray, count: int) -> IntArray:
    """A uniformly random set of users not ``found``, by Floyd's algorithm on their ranks."""
    room = users - drawn.size
    chosen: set[int] = set()
    for last in range(room - count, room):
        rank = int(noise.uniform(last + 1, 1)[0])
        chosen.add(last if rank in chosen else rank)
    ranks: IntArray = np.array(sorted(chosen), dtype=np.int64)
    return ranks + np.searchsorted(drawn - np.arange(drawn.size), ranks, side="right")


def buckets(users: IntArray, key: IntArray, count: int) -> IntArray:
    """The bucket of each user: two rounds of a 64-bit mixer (splitmix64), each with its key."""
    mixed: Words = users.view(np.uint64) ^ key.view(np.uint64)[0]
    shifted = np.empty_like(mixed)
    for word in (key.view(np.uint64)[1], key.view(np.uint64)[0]):
        for shift, factor in _ROUND:
            np.right_shift(mixed, shift, out=shifted)
            mixed ^= shifted
            mixed *= factor
        mixed += word
    # The highest 32 bits times the count: buckets differ in weight by at most count / 2^32.
    np.right_shift(mixed, np.uint64(32), out=shifted)
    shifted *= np.uint64(count)
    shifted >>= np.uint64(32)
    places = shifted.astype(np.int64)
    wipe(mixed, shifted)  # with the key in the state, these would reveal the users
    return places
