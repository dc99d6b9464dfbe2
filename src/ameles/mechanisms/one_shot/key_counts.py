"""Key counts: the keys of a group-by that may be named, with their counts; one noise serves both.

Theorem      Desfontaines-Voss-Gipson-Mandayam 2022, with rows of several keys composed exactly
             (catalogue 36, 50).  Every key's count gets discrete Laplace noise of scale L / epsilon
             that is truncated to -K..K; a key is named, with its noisy count, if it is above K.
             A key that nobody has would never be named, so it needs no noise.  Between neighbours
             the counts change by c_1, c_2, ..., together by at most L.  Values that both can give
             are at most e^(epsilon c_i / L) times likelier on one side, all together e^epsilon.
             The others are the c_i outermost values of a key, of probability q(c_i): delta is
             1 - prod (1 - q(c_i)), exactly.  -ln(1 - q) is convex and 0 at 0, so delta is largest
             where the rows are in as few keys as they can be.  K is the smallest that fits
Neighbours   a unit comes or goes and changes the counts of all keys together by at most
             ``max_rows`` (L), and one of them by at most ``max_per_key``; where one unit replaces
             another, all of them by twice as much, and one by no more
Noise        truncated discrete Laplace, one draw for each key; q is rounded up
Error        exact tails; ``error.interval`` holds the count of a named key with probability
             1 - beta *given that it is named*, whatever the count is
Memory       nothing is kept

``KeySelection`` names keys and counts nothing.  Where a unit has one row, a key is named here with
the largest probability that any rule has with the same epsilon and the delta q(1), which is delta
but for the rounding of K.  The answer has a place in the input and a noisy count for each named
key: publish keys and counts, in an order of the keys, and never the places.

>>> from ameles.noise import Zero
>>> recipe = KeyCounts(epsilon=1, delta="1e-5", neighbours="add-remove")
>>> recipe.within
11
>>> recipe.start(Zero()).step([3, 120, 11, 12])
array([[  1, 120],
       [  3,  12]])
>>> recipe.error.bound(1, 0.05), recipe.error.named(0.05)
(3, 13)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, OptionalWhole, Whole
from ameles.mechanisms.one_shot.exact_inputs import counts_of_keys
from ameles.mechanisms.one_shot.one_shot import TWO_MOVE, Look
from ameles.mechanisms.one_shot.truncated_law import ONE, PRECISION, TruncatedLaplace
from ameles.noise.arrays import BoolArray, IntArray

LARGEST = 1 << 60


@dataclass(frozen=True, kw_only=True)
class KeyCounts(Look[IntArray]):
    """The places and noisy counts of the keys that are named, from the count of each key.

    >>> from ameles.noise import Zero
    >>> recipe = KeyCounts(epsilon=1, delta="1e-5", max_rows=3, neighbours="user-presence",
    ...                    unit="user")
    >>> recipe.scale, recipe.start(Zero()).step([40, 3])
    (Fraction(3, 1), array([[ 0, 40]]))
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    delta: Number = Number(Fraction(1, 10**30), Fraction(1, 2))
    max_rows: Whole = Whole(1, 2**39, 1)
    max_per_key: OptionalWhole = OptionalWhole(1, 2**39)

    def __post_init__(self) -> None:
        if self.within > LARGEST:
            raise BadInput(
                "These parameters need keys with more than 2**60 rows.",
                why="the noise must hide all rows that one unit may change",
                tip="a larger epsilon, or fewer rows for each unit",
            )

    @property
    def reach(self) -> int:
        """By how much one unit changes all counts together."""
        return self.max_rows * (2 if self.neighbours in TWO_MOVE else 1)

    @property
    def reach_of_key(self) -> int:
        """By how much one unit changes one count."""
        return min(self.max_per_key or self.max_rows, self.max_rows)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise before it is truncated."""
        return self.reach / self.epsilon

    @property
    def within(self) -> int:
        """The largest noise, which is also the largest noisy count of a key that is not named."""
        return smallest_truncation(self.scale, self.reach, self.reach_of_key, self.delta)

    @property
    def law(self) -> TruncatedLaplace:
        """The law of the noise."""
        return TruncatedLaplace(self.scale, self.within)

    @property
    def loss(self) -> Approx:
        """Epsilon and delta of all the rows that one unit may change."""
        return Approx(self.epsilon, self.delta)

    @property
    def error(self) -> KeyCountsError:
        """The law of the noise, and which keys are named."""
        return KeyCountsError(self.law)

    def checked(self, x: object) -> IntArray:
        return counts_of_keys(x, LARGEST)

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        noisy = x + noise.truncated_laplace(self.scale, self.within, x.size)
        named = np.flatnonzero(noisy > self.within)
        return np.stack([named, noisy[named]], axis=1)


@lru_cache(maxsize=256)
def smallest_truncation(scale: Fraction, rows: int, per_key: int, delta: Fraction) -> int:
    """The smallest K whose delta is at most ``delta``, and at least the scale.

    >>> smallest_truncation(Fraction(1), 1, 1, Fraction(1, 10**5))
    11
    """
    allowed = int(delta * ONE)
    low = max(math.ceil(scale), per_key)  # as ``truncated_laplace`` and ``lost`` need it
    high = low
    while composed_delta(TruncatedLaplace(scale, high), rows, per_key) > allowed:
        low, high = high + 1, 2 * high
        if low > LARGEST:
            return low
    while low < high:
        middle = (low + high) // 2
        fits = composed_delta(TruncatedLaplace(scale, middle), rows, per_key) <= allowed
        low, high = (low, middle) if fits else (middle + 1, high)
    return low


def composed_delta(law: TruncatedLaplace, rows: int, per_key: int) -> int:
    """1 - prod (1 - q(c_i)) for the worst split of ``rows``, rounded up, times 2**256."""
    full, rest = divmod(rows, per_key)
    kept, base = ONE - law.lost(rest), ONE - law.lost(per_key)
    while full:  # kept times base to the power of full; every product is rounded down
        if full & 1:
            kept = kept * base >> PRECISION
        base = base * base >> PRECISION
        full >>= 1
    return ONE - kept


@dataclass(frozen=True, slots=True)
class KeyCountsError:
    """How far the counts of named keys are from the truth, and which keys are named."""

    law: TruncatedLaplace

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The noise of one key is at most this with probability at least 1 - beta."""
        return self.law.quantile(beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many keys together."""
        return self.bound(1, beta / steps)

    def named(self, beta: float) -> int:
        """A key with more rows than this is named with probability at least 1 - beta."""
        return self.law.within + self.law.quantile(min(1.0, 2 * beta))

    def interval(self, noisy: IntArray, beta: float) -> tuple[IntArray, IntArray]:
        """The counts that named keys may have, each with probability at least 1 - beta.

        It holds for each count a key may have, given that the key is named: a count is inside
        unless the law of noisy counts above K says that so high or so low a one has probability
        beta / 2 or less.  A key just above K may have any smaller count.  The noisy count itself
        is always inside.

        >>> law = TruncatedLaplace(Fraction(10), 93)
        >>> low, high = KeyCountsError(law).interval(np.array([94, 120, 400]), 0.05)
        >>> low.tolist(), high.tolist()
        ([1, 30, 370], [103, 149, 430])
        """
        law, first = self.law, self.law.within + 1
        smallest = noisy - law.within  # at least 1

        def so_high(count: IntArray) -> BoolArray:
            return law.tail(noisy - count) > beta / 2 * law.tail(first - count)

        def so_low(count: IntArray) -> BoolArray:
            named = law.tail(first - count)
            return named - law.tail(noisy + 1 - count) > beta / 2 * named

        low = _first(so_high, smallest, noisy)
        high = _first(lambda count: ~so_low(count), smallest, noisy + law.within + 1) - 1
        return low, np.maximum(high, noisy)


def _first(holds: Callable[[IntArray], BoolArray], low: IntArray, high: IntArray) -> IntArray:
    """For each entry the first number from which on it holds; at ``high`` it does."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        there = holds(middle)
        low, high = np.where(there, low, middle + 1), np.where(there, middle, high)
        high = np.maximum(low, high)
    return low
