"""Sums of independent Laplace variables of different scales and weights: deviations and tails.

Theorem      Y = sum of n_i independent copies of a_i Z_i, Z_i discrete Laplace of scale b_i.
             Chernoff: P(|Y| >= x) <= 2 exp(-h x) prod M_i(a_i h)^n_i for any h with a_i h < 1/b_i
Error        with weights of 1 the tail is exact, by ``equal_sums`` for equal parts and by
             ``contour`` for others.  With other weights, from scale 1 on, the law is that
             of continuous variables except for the lattice, and its tail is found in the same way;
             one is added for the lattice and for the rounding of releases.  Below scale 1 the
             Chernoff bound: an error above x is at least x + 1, and to that the rounding of
             a release has added at most 1/2, that of a difference of two at most 1.  Bounds of
             at most 40 counts are then made as small as they can be, by ``rounded``.  With many
             variables that overlap, as hats and siblings have them, nothing is added for the
             lattice: the continuous law, whose variance is larger, was never below in comparisons

>>> mixture = LaplaceMixture((LaplacePart(Fraction(10), 1.0, 3), LaplacePart(Fraction(10), 0.5, 2)))
>>> round(mixture.std, 1)
26.4
>>> mixture.quantile(0.05)
55
>>> quantiles([mixture, LaplaceMixture((LaplacePart(Fraction(10), 1.0, 3),))], 0.05)
array([55, 50])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace import rounded
from ameles.mechanisms.laplace.contour import Sums
from ameles.mechanisms.laplace.rounded import SmallestBounds, WeightedSum, rounded_variances
from ameles.mechanisms.laplace.saddle_path import FloatArray
from ameles.noise.arrays import IntArray

SMOOTH = 1
# From so many variables of different weights on, a sum is as good as continuous, up to so much.
VARIED, UNCERTAIN = 32, 0.02
# More roundings than the bounds of single counts allow for.
MANY = 3
# Iterations of the ternary search for a minimum: it is flat, so its place need not be exact.
NARROWINGS = 60

# Weights of copies of a law, and how many copies have each.
Copies: TypeAlias = tuple[tuple[float, int], ...]
# How many variables there are of each scale and weight.
Terms: TypeAlias = dict[tuple[float, float], float]


@dataclass(frozen=True, slots=True)
class LaplacePart:
    """Equal terms of a sum: ``count`` variables of this scale, each times ``weight``."""

    scale: Fraction
    weight: float
    count: float


class TailMethod(Enum):
    """How the tail of a law is found; see the module's text."""

    NOTHING = "nothing"
    EQUAL = "equal"
    WHOLE = "whole"
    WEIGHTED = "weighted"
    MANY_WEIGHTS = "many weights"
    CHERNOFF = "chernoff"
    BOUNDING = "bounding"


@dataclass(frozen=True)
class LaplaceMixture:
    """The law of a sum of Laplace variables.

    ``bounding``: its Chernoff bound, and nothing sharper, bounds the tails of other laws, each
    of one release.  Its counts need not be whole.  ``roundings``: if weights are not whole, how
    many releases were rounded to whole counts: one, two for a difference, or ``MANY``, with which
    small bounds are not made smaller.  ``varied``: the values of
    its variables overlap.
    """

    parts: tuple[LaplacePart, ...]
    bounding: bool = False
    roundings: int = 2
    varied: bool = False

    @property
    def std(self) -> float:
        """The standard deviation."""
        variances = []
        scale, sinh = Fraction(0), 0.0
        for part in self.parts:
            if part.scale is not scale:  # most are the same, and a fraction is slow to convert
                scale, sinh = part.scale, math.sinh(1 / (2 * float(part.scale)))
            # 2 q / (1 - q)^2 = 1 / (2 sinh(1 / 2b)^2)
            variances.append(part.count * (part.weight / sinh) ** 2 / 2)
        return math.sqrt(math.fsum(variances))

    @property
    def rounded_std(self) -> float:
        """The standard deviation of one release: of the sum, rounded if it is not whole."""
        return float(rounded_stds([self])[0])

    def copies(self, numbers: Copies) -> LaplaceMixture:
        """The law of a sum of independent copies, so many of each weight, each of which may have
        been rounded."""
        parts = [
            LaplacePart(part.scale, part.weight * weight, part.count * number)
            for weight, number in numbers
            for part in self.parts
        ]
        return LaplaceMixture(tuple(parts), self.bounding, roundings=MANY)

    @property
    def terms(self) -> Terms:
        """Equal parts put together, and those without effect left out."""
        counts: Terms = {}
        scale, size = Fraction(0), 0.0
        for part in self.parts:
            if part.scale is not scale:  # most are the same, and a fraction is slow to convert
                scale, size = part.scale, float(part.scale)
            if part.weight:
                place = size, part.weight
                counts[place] = counts.get(place, 0) + part.count
        return {place: count for place, count in counts.items() if count}

    def shape(self, terms: Terms) -> TailMethod:
        """How the tail of a law with these terms is found."""
        if not terms:
            return TailMethod.NOTHING
        if self.bounding:
            return TailMethod.BOUNDING
        if all(weight == 1 for _, weight in terms):
            return TailMethod.EQUAL if len(terms) == 1 else TailMethod.WHOLE
        if any(scale < SMOOTH for scale, _ in terms):
            return TailMethod.CHERNOFF
        many = self.varied and sum(terms.values()) >= VARIED
        return TailMethod.MANY_WEIGHTS if many else TailMethod.WEIGHTED

    def tail(self, x: int) -> float:
        """A bound on P(|Y| > x), exact for weights of 1 and sharp where scales are not small."""
        terms = self.terms
        shape = self.shape(terms)
        if shape is TailMethod.NOTHING:
            return 0.0
        if shape is TailMethod.EQUAL:
            return laplace_sum.tail(int(sum(terms.values())), self._scale, x)
        return _Table([terms], self.roundings).tail(shape, x)

    def quantile(self, beta: float) -> int:
        """An integer that |Y| exceeds with probability at most beta."""
        return int(quantiles([self], beta)[0])

    @property
    def _scale(self) -> Fraction:
        """The scale of the parts that count, if they are equal."""
        return next(part.scale for part in self.parts if part.weight and part.count)


def quantiles(laws: Iterable[LaplaceMixture], beta: float) -> IntArray:
    """For each law an integer that |Y| exceeds with probability at most beta.

    Much faster than one by one: laws of one shape are worked on together, and equal ones once.
    """
    laplace_sum.probability(beta)
    equal: dict[Fraction, list[tuple[int, int]]] = {}
    others: dict[tuple[TailMethod, int], list[tuple[int, Terms]]] = {}
    place = -1
    for place, law in enumerate(laws):
        terms = law.terms
        shape = law.shape(terms)
        if shape is TailMethod.EQUAL:
            equal.setdefault(law._scale, []).append((place, int(sum(terms.values()))))
        elif shape is not TailMethod.NOTHING:
            others.setdefault((shape, law.roundings), []).append((place, terms))
    numbers = np.zeros(place + 1, dtype=np.int64)
    for scale, counted in equal.items():
        places, counts = np.array(counted).T
        numbers[places] = laplace_sum.quantiles(counts, scale, beta)
    for (shape, roundings), rows in others.items():
        table = _Table([terms for _, terms in rows], roundings)
        numbers[[place for place, _ in rows]] = table.quantiles(shape, beta)
    return numbers


def rounded_stds(laws: Iterable[LaplaceMixture]) -> FloatArray:
    """The ``rounded_std`` of each law.

    Much faster than one by one: variables of the same scale and weight are looked at once.
    """
    stds, places, weighted = [], [], []
    for place, law in enumerate(laws):
        terms = law.terms
        whole = all(weight == 1 for _, weight in terms)
        stds.append(law.std if whole else 0.0)
        if not whole:
            places.append(place)
            weighted.append(_weighted(terms))
    found = np.array(stds)
    found[places] = np.sqrt(rounded_variances(weighted))
    return found


def _weighted(terms: Terms) -> WeightedSum:
    rows = np.array([(*place, count) for place, count in terms.items()], dtype=np.float64)
    return WeightedSum(*rows.T)


class _Table:
    """Many laws as arrays: a row each, which ends in counts of zero; equal rows are one."""

    def __init__(self, laws: list[Terms], roundings: int) -> None:
        self._roundings = roundings
        # what is above x + 1 rounded was above x + this before
        self._spare = max(0.0, 1 - roundings / 2)
        longest = max(len(terms) for terms in laws)
        rows = [
            [(*place, count) for place, count in terms.items()]
            + [(*next(iter(terms)), 0.0)] * (longest - len(terms))
            for terms in laws
        ]
        different, self._places = np.unique(
            np.array(rows, dtype=np.float64).reshape(len(rows), -1), axis=0, return_inverse=True
        )
        columns = different.reshape(-1, longest, 3)
        self._scales, self._weights, self._counts = np.moveaxis(columns, 2, 0)

    @property
    def whole(self) -> Sums:
        """The laws as they are, for weights of 1."""
        return Sums(0.5 / np.sinh(0.5 / self._scales), self._counts, lattice=True)

    @property
    def continuous(self) -> Sums:
        """The laws of continuous variables in place of the discrete ones."""
        return Sums(self._scales * self._weights, self._counts, lattice=False)

    def quantiles(self, shape: TailMethod, beta: float) -> IntArray:
        """For each of the laws, in their first order."""
        if shape is TailMethod.WHOLE:
            numbers = np.ceil(self.whole.quantiles(beta) - 0.5)
        elif shape is TailMethod.WEIGHTED:
            numbers = np.ceil(self.continuous.quantiles(beta)) + 1
        elif shape is TailMethod.MANY_WEIGHTS:
            numbers = np.ceil(self.continuous.quantiles(beta) - self._spare + UNCERTAIN)
        else:
            # a bound on P(|Y| >= x) is beta at the x of this h, and at the smallest for the best h
            numbers = np.ceil(self._reach(beta) - self._spare_of(shape))
        if shape in (TailMethod.WEIGHTED, TailMethod.CHERNOFF):
            self._sharpen(numbers, beta)
        return numbers[self._places.reshape(-1)].astype(np.int64)

    def _reach(self, beta: float) -> FloatArray:
        """What |Y| reaches with probability at most beta, by Chernoff's bound."""
        each = math.log(2 / beta)
        return self._least(lambda h: (self._logarithm(h) + each) / h)

    def _sharpen(self, numbers: FloatArray, beta: float) -> None:
        """Makes small bounds as small as they can be."""
        if beta < rounded.SMALLEST_BETA or self._roundings >= MANY:
            return
        if not (numbers <= rounded.LARGEST).any():
            return
        far = self._reach(beta * rounded.SPARE)
        bounds = SmallestBounds(beta, self._spare)
        rows = np.flatnonzero(numbers <= rounded.LARGEST)
        for row in sorted(rows, key=lambda row: rounded.period(int(numbers[row]), float(far[row]))):
            some = self._counts[row] > 0
            law = WeightedSum(
                self._scales[row, some], self._weights[row, some], self._counts[row, some]
            )
            numbers[row] = bounds.smallest(law, high=int(numbers[row]), far=float(far[row]))

    def tail(self, shape: TailMethod, x: int) -> float:
        """A bound on P(|Y| > x) for the only law."""
        if shape is TailMethod.WHOLE:
            return float(self.whole.tails(np.array([x + 0.5]))[0])
        if shape in (TailMethod.WEIGHTED, TailMethod.MANY_WEIGHTS):
            return float(self.continuous.tails(np.array([x - 1.0]))[0]) if x > 1 else 1.0
        least = self._least(lambda h: self._logarithm(h) - h * (x + self._spare_of(shape)))
        return min(1.0, 2 * math.exp(least[0]))

    def _logarithm(self, h: FloatArray) -> FloatArray:
        """That of the moment generating function."""
        ratio = np.sinh(self._weights * h[:, None] / 2) / np.sinh(0.5 / self._scales)
        logarithms: FloatArray = -np.sum(self._counts * np.log1p(-(ratio**2)), axis=1)
        return logarithms

    def _least(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """The least values of functions that fall and then rise, up to the first pole."""
        high = (1 - 1e-12) / np.max(self._scales * self._weights, axis=1)
        low = np.zeros_like(high)
        for _ in range(NARROWINGS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            lower = function(left) < function(right)
            low, high = np.where(lower, low, left), np.where(lower, right, high)
        return function((low + high) / 2)

    def _spare_of(self, shape: TailMethod) -> float:
        """How far above x a sum is if its rounding is above x: one minus what roundings have
        added."""
        return 0.5 if shape is TailMethod.BOUNDING else self._spare
