"""How likely noise is to leave a band at some step, for counters whose noise is a walk of walks.

Theorem      Give the noise x before a block of steps.  Inside a block the noise is x plus sums of
             noises that belong to blocks within it, and these are independent of the noise Z of
             the block as a whole.  So with g(x) the probability that the noise leaves [-m, m]
             inside the block, and h(x) that it does after it,
             P(leaves) = 1 - (1 - g(x)) (1 - P(|x + Z| > m) - E[h(x + Z); |x + Z| <= m])
Error        each function is computed at every integer of the band, from positive terms alone:
             relative 1e-12.  The bound is the smallest integer, exactly
Two noises   of one scale at one step: beyond the band, an expectation over the first falls like
             a power of q = exp(-1 / b), so that the expectation over the second is a sum over
             the band and two geometric series
Coarse       if the scale b is large, Z = c W + R with W discrete Laplace of scale b / c and R the
             difference of two geometric variables below c, independent of W.  The band is that of
             the W; what the R add at any step is bounded by Chernoff's bound and a union
             bound, for a thousandth of beta

>>> band = Band(10, 1)
>>> one = band.then(Fraction(3), band.inside)  # the probability that a first noise is above 10
>>> bool(abs(one[10] - 2 * np.exp(-11 / 3) / (1 + np.exp(-1 / 3))) < 1e-15)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.laplace.equal_sums import probability

Floats: TypeAlias = NDArray[np.float64]
# A band of more integers on each side is computed on a coarser lattice.
MOST = 1 << 11
# The part of beta that a coarser lattice is paid with.
COARSE = 1e-3
# exp of this is the largest number that powers are divided by.
LARGEST = 300.0


class Band:
    """The integers from -m to m, in units of ``coarse`` counts."""

    def __init__(self, m: int, coarse: int) -> None:
        self.m = m
        self._coarse = coarse
        self._laws: dict[Fraction, tuple[Floats, float, Callable[[Floats], Floats]]] = {}

    @classmethod
    def lattice(cls, high: int) -> int:
        """How coarse the lattice is for a bound that is at most ``high``."""
        return max(1, math.ceil(high / MOST))

    @classmethod
    def residual(cls, scale: Fraction, coarse: int, terms: int, level: float) -> float:
        """What a sum of so many residuals R exceeds with probability exp(-level) on either side."""
        h = np.exp(np.linspace(-8, 3, 200)) / coarse
        rate = 1 / float(scale)
        both = _geometric(rate + h, coarse) + _geometric(rate - h, coarse)
        both -= 2 * _geometric(np.array([rate]), coarse)
        return float(np.min((terms * both + level) / h))

    @cached_property
    def inside(self) -> Floats:
        """The probability to leave if nothing more comes: none."""
        return np.zeros(2 * self.m + 1)

    def then(self, scale: Fraction, leaving: Floats) -> Floats:
        """One more noise of this scale, and then leaving with the given probability."""
        powers, q, expected = self._laplace(scale)
        away = powers * q / (1 + q)  # P(Z > distance)
        return expected(leaving) + away + away[::-1]

    def then_two(self, scale: Fraction, leaving: Floats) -> Floats:
        """Two more noises of this scale at one step, and then leaving."""
        powers, q, expected = self._laplace(scale)
        once = expected(leaving)
        edge = q * q / (1 + q) ** 2  # of the geometric series on either side of the band
        moved = expected(once)
        moved += edge * (once[-1] * powers[::-1] + once[0] * powers)
        more = (1 + q * q) / (1 - q * q) + q / (1 - q)
        away = np.arange(1, len(powers) + 1) + more  # P(Z + Z' > distance), up to a factor
        away *= powers * q * (1 - q) / (1 + q) ** 2
        moved += away + away[::-1]
        return moved

    def _laplace(self, scale: Fraction) -> tuple[Floats, float, Callable[[Floats], Floats]]:
        """All powers of q, q, and the expectation over one noise of what is within the band."""
        if scale not in self._laws:
            rate = self._coarse / float(scale)
            powers, q = np.exp(-np.arange(2 * self.m + 1) * rate), math.exp(-rate)
            together = max(1, int(min(len(powers), LARGEST / rate)))
            self._laws[scale] = powers, q, partial(_expected, powers=powers[:together], q=q)
        return self._laws[scale]


def _expected(values: Floats, powers: Floats, q: float) -> Floats:
    """At each place the expectation of the value that one noise leads to, or else 0."""
    moved = _discounted(values, powers, q)
    moved += _discounted(values[::-1], powers, q)[::-1]
    moved -= values  # both have the middle term
    moved *= (1 - q) / (1 + q)
    return moved


def _discounted(values: Floats, powers: Floats, q: float) -> Floats:
    """At each place the sum of all values up to there, each times q to its distance."""
    sums = np.empty_like(values)
    carried = 0.0
    for start in range(0, len(values), len(powers)):
        part = values[start : start + len(powers)]
        falling = powers[: len(part)]
        # sums of positive terms, each with its own power: nothing cancels
        own = np.cumsum(part / falling)
        own += carried * q
        own *= falling
        sums[start : start + len(part)] = own
        carried = float(own[-1])
    return sums


def either(one: Floats, other: Floats) -> Floats:
    """The probability of one of two independent events."""
    return one + other - one * other


def blocks_leaving(
    after: Floats,
    digits: Sequence[int],
    arities: Sequence[int],
    then: Callable[[Floats], Floats],
) -> Floats:
    """Leaving within the blocks that the digits of a count name, the lowest first, or after them.

    So many blocks of a level make one of the next; ``then`` is the noise of a complete block.
    """
    inside = np.zeros_like(after)
    for digit, arity in zip(digits, (*arities, 1), strict=True):
        for _ in range(digit):
            after = either(inside, then(after))
        block = inside
        for _ in range(arity - 1):
            block = either(inside, then(block))
        inside = block
    return after


@dataclass(frozen=True, slots=True)
class Walk:
    """The noise of the first steps: how likely it is to leave a band, for each noise before them.

    At each step there are at most ``terms`` noises, of these ``scales``.
    """

    leaving: Callable[[Band], Floats]
    steps: int
    terms: int
    scales: frozenset[Fraction]
    kind: type[Band] = Band

    def bound(self, beta: float, high: int) -> int:
        """The smallest m such that noise from 0 leaves [-m, m] with probability at most beta;
        ``high`` is a larger one, or equal."""
        probability(beta)
        coarse = self.kind.lattice(high)
        spare = self._residual(coarse, beta * COARSE) if coarse > 1 else 0
        allowed = beta * (1 - COARSE) if coarse > 1 else beta
        low, top = -1, -(-high // coarse)
        above, below = 0.0, math.log(allowed)  # logarithms of the probabilities there, or near them
        halve = False
        while top - low > 1:
            part = (above - math.log(allowed)) / (above - below) if above > below else 1.0
            middle = (low + top) // 2 if halve else low + math.ceil(part * (top - low))
            middle = min(max(middle, low + 1), top - 1)
            leaves = float(self.leaving(self.kind(middle, coarse))[middle])
            before = top - low
            if leaves > allowed:
                low, above = middle, math.log(leaves)
            else:
                top, below = middle, math.log(max(leaves, 1e-300))
            halve = 2 * (top - low) > before
        return min(coarse * top + spare, high)

    def _residual(self, coarse: int, beta: float) -> int:
        """What sums of the residuals R stay within at all steps, with probability 1 - beta."""
        level = math.log(2 * self.steps / beta)
        reach = (self.kind.residual(scale, coarse, self.terms, level) for scale in self.scales)
        return math.ceil(max(reach))


def _geometric(rate: Floats, coarse: int) -> Floats:
    """The logarithm of the sum of exp(-rate j) over j < coarse."""
    safe = np.where(abs(rate) < 1e-12, 1e-12, rate)
    logarithm: Floats = np.log(np.expm1(-coarse * safe) / np.expm1(-safe))
    return logarithm
