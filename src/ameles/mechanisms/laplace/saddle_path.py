"""Paths through the complex plane on which the tails of sums of Laplace variables are integrated.

The theorem is that of ``contour.py``.  A path is a hyperbola: it crosses the real axis near where
the integrand is smallest there, and bends as the steepest descent does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
ComplexArray: TypeAlias = NDArray[np.complex128]

# The length of the path, in units of its own bend, and its number of steps.
REACH, POINTS = 7.0, 48
# So many factors are multiplied before a logarithm is taken.  The square of their product stays
# below 1e308, because a path reaches less than 1e4 times as far as the first pole.
PRODUCT = 16
# Products are raised to powers if there are so few different ones, and none is larger: their
# relative error is that many times that of a float.
FEW, LARGEST = 2, 1000
# How many factors are computed at a time, so that they stay in the cache.
FACTORS = 1 << 15
# Any path gives the same integral, so its crossing need not be the best one: it is looked for until
# it is that near, in deviations of the integrand, or known to so small a part of where it may be.
NEAR, CLOSE = 0.02, 1e-3
# Steps of Newton's method; after so many the interval is only halved.
STRAIGHT = 10


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where paths cross the real axis, and what the exponent is like there."""

    at: FloatArray
    exponent: FloatArray  # E
    x: FloatArray  # the x for which this is the best crossing
    rise: FloatArray  # by how much that x grows with the logarithm of the crossing
    level: FloatArray  # the logarithm of the saddle-point estimate of P(Y > x)
    second: FloatArray  # derivatives of the exponent
    third: FloatArray

    def from_level(self, level: float) -> FloatArray:
        """How far up the best crossing for this level is, about, as a logarithm."""
        away: FloatArray = (self.level - level) / (self.exponent * self.rise)
        away[self.x < 0] = np.inf
        return away

    def from_x(self, x: FloatArray) -> FloatArray:
        """The same for this x."""
        return (x - self.x) / self.rise

    def x_at(self, level: float) -> FloatArray:
        """About the x of this level."""
        return self.x + (self.level - level) / self.exponent

    def deviations(self, away: FloatArray) -> FloatArray:
        """Such a distance in deviations of the integrand."""
        far: FloatArray = abs(away) * self.at * np.sqrt(self.second)
        return far


@dataclass(frozen=True, slots=True)
class Path:
    """The integrand on the path, for all laws: the sum of weight * exp(logarithm - x E)."""

    exponent: ComplexArray  # E
    logarithm: ComplexArray  # of M
    weight: ComplexArray

    def tails(self, x: FloatArray, level: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """P(|Y| > x) in units of exp(level), and how fast it falls with x."""
        terms = self.weight * np.exp(self.logarithm - self.exponent * x[:, None] - level)
        return terms.imag.sum(axis=1), (terms * self.exponent).imag.sum(axis=1)

    def quantiles(self, start: FloatArray, level: float) -> FloatArray:
        """Where the logarithm of P(|Y| > x) is ``level``, or 0 if it is never that large."""
        x = np.maximum(start, 0.0)
        for _ in range(20):  # Newton's, on the logarithm, which is concave and nearly flat
            tail, fall = self.tails(x, level)
            x, before = np.maximum(x + np.log(tail) * tail / fall, 0.0), x
            if np.all(np.abs(x - before) <= 1e-5 * (x + before)):  # then the next would be 1e-10
                break
        return x


@dataclass(frozen=True, slots=True)
class ScaledSums:
    """Laws of sums in units of a width that is at least as large as all of theirs, so that their
    first pole is at 1 or farther away."""

    widths: FloatArray
    counts: FloatArray
    largest: FloatArray  # that width
    lattice: bool

    @classmethod
    def of(
        cls, widths: FloatArray, counts: FloatArray, largest: FloatArray, *, lattice: bool
    ) -> ScaledSums:
        """Laws with these widths."""
        return cls(widths / largest[:, None], counts, largest, lattice)

    @property
    def unit(self) -> FloatArray:
        """What x is counted in: the largest width, or on the lattice one."""
        return np.ones_like(self.largest) if self.lattice else self.largest

    def rows(self, some: slice) -> ScaledSums:
        """Some of the laws."""
        return ScaledSums(self.widths[some], self.counts[some], self.largest[some], self.lattice)

    def parts(self, some: NDArray[np.bool_]) -> ScaledSums:
        """The laws of sums of some of the variables."""
        return ScaledSums(self.widths[:, some], self.counts[:, some], self.largest, self.lattice)

    def crossing(
        self, away: Callable[[Crossing], FloatArray], first: FloatArray | None = None
    ) -> Crossing:
        """A crossing for each law that is near to the best one; ``first`` is a guess.

        ``away`` tells about how far up that is, as a logarithm: Newton's method, and halving where
        it would leave the interval in which the best one is.
        """
        spread = 2 * np.sum(self.counts * self.widths**2, axis=1)
        low, high = np.log(0.1 / np.sqrt(spread)), np.full(len(spread), -1e-12)
        close = CLOSE * (high - low)
        at = (low + high) / 2 if first is None else np.clip(np.log(first), low, high)
        for tries in count():
            crossing = self.crossed(np.exp(at))
            step = away(crossing)
            found = (crossing.deviations(step) <= NEAR) | (high - low <= close)
            if found.all():
                break
            low, high = np.where(step > 0, at, low), np.where(step > 0, high, at)
            newton = at + step
            inside = (low < newton) & (newton < high) & (tries < STRAIGHT)
            at = np.where(found, at, np.where(inside, newton, (low + high) / 2))
        return crossing

    def crossed(self, h: FloatArray) -> Crossing:
        """The crossings at h, one for each law or one for all."""
        g = self.widths * h[:, None]
        square = g * g
        over = self.widths / (1 - square)
        per = self.counts * over
        logarithm = -_total(self.counts, np.log1p(-square))
        first = 2 * _total(per, g)
        per *= over
        second = 2 * _total(per, 1 + square)
        per *= over
        third = 4 * _total(per, g * (3 + square))
        e, e1, e2, e3 = self._exponent(h)
        x = (first - 1 / h) / e1
        second += 1 / h**2 - x * e2
        third -= 2 / h**3 + x * e3
        level = logarithm - x * e - np.log(h * self.unit / self.largest / e1)
        level -= np.log(2 * math.pi * second) / 2
        return Crossing(h, e, x, h * second / e1, level, second, third)

    def _exponent(self, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """E and its derivatives on the real axis."""
        if not self.lattice:
            return h, np.ones_like(h), np.zeros_like(h), np.zeros_like(h)
        t = h / (2 * self.largest)
        slope, sine = 1 / (self.largest * np.hypot(1, t)), t / np.hypot(1, t)
        return 2 * np.arcsinh(t), slope, -(slope**2) * sine / 2, -(slope**3) * (1 - 3 * sine**2) / 4

    def path(self, crossing: Crossing) -> Path:
        """The hyperbola through a crossing; below the real axis it is the mirror image."""
        z, exponent, weight = self._hyperbola(crossing)
        return Path(exponent, self._logarithm(z), weight)

    def shared_path(self, crossing: Crossing, same: NDArray[np.bool_]) -> Path:
        """The hyperbola through one crossing, for all laws, whose largest widths are the same.

        ``same`` marks the variables that all have: what these add is found once.
        """
        one = self.rows(slice(0, 1))
        z, exponent, weight = one._hyperbola(crossing)
        logarithm = one.parts(same)._logarithm(z) + self.parts(~same)._logarithm(z)
        return Path(exponent, logarithm, weight)

    def _hyperbola(self, crossing: Crossing) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
        """The points of a path, with their exponents E and weights."""
        step = REACH / POINTS
        v = (np.arange(POINTS) + 0.5) * step
        height = np.sqrt(2 / crossing.second)[:, None]
        bend = np.maximum(2 * crossing.third / (3 * crossing.second**2), 0.0)[:, None]
        z = crossing.at[:, None] + bend * (np.cosh(v) - 1) + 1j * height * np.sinh(v)
        weight = (bend * np.sinh(v) + 1j * height * np.cosh(v)) * (2 * step / math.pi) / z
        if not self.lattice:
            return z, z, weight
        e = 2 * np.arcsinh(z / (2 * self.largest[:, None]))
        return z, e, weight / np.cosh(e / 2)

    def _logarithm(self, z: ComplexArray) -> ComplexArray:
        """log M(z), good also where a great many factors are close to 1.

        Where whole powers of products are taken, it may differ by a multiple of 2 pi i, which its
        exponential does not show.
        """
        powers = few_counts(self.counts)
        if powers is not None:
            logarithm = np.zeros((len(self.counts), z.shape[1]), dtype=np.complex128)
            for power in powers:
                logarithm += power * self._logarithm_of_products(z, self.counts == power)
            return logarithm
        square = -(self.widths[:, :, None] ** 2) * (z * z)[:, None, :]
        real, imaginary = square.real, square.imag
        size = np.log1p(real * (2 + real) + imaginary * imaginary)
        angle = np.arctan2(imaginary, 1 + real)
        counts = self.counts[:, None, :]
        logarithms: ComplexArray = -(counts @ (size / 2) + 1j * (counts @ angle))[:, 0]
        return logarithms

    def _logarithm_of_products(self, z: ComplexArray, some: NDArray[np.bool_]) -> ComplexArray:
        """The same for some of the variables, each once, with one logarithm for many factors."""
        columns = some.any(axis=0)
        laws, parts = len(some), int(columns.sum())
        groups, square = -(-parts // PRODUCT), z * z
        widths = np.zeros((groups * PRODUCT, laws, 1))
        widths[:parts, :, 0] = (self.widths * some)[:, columns].T ** 2
        size, angle = np.zeros((2, laws, z.shape[1]))
        many = max(1, FACTORS // (PRODUCT * size.size))
        factors = np.empty((many, PRODUCT, *size.shape), dtype=np.complex128)  # used again
        for part in np.split(widths.reshape(groups, PRODUCT, laws, 1), range(many, groups, many)):
            one = np.multiply(part, square, out=factors[: len(part)])
            product = np.subtract(1, one, out=one).prod(axis=1)
            size += np.log(product.real**2 + product.imag**2).sum(axis=0)
            angle += np.arctan2(product.imag, product.real).sum(axis=0)
        logarithm: ComplexArray = -(size / 2 + 1j * angle)
        return logarithm


def few_counts(counts: FloatArray) -> list[float] | None:
    """How often widths count, if these are few whole numbers.

    >>> few_counts(np.array([[1.0, 2.0, 0.0]])), few_counts(np.array([[0.5]]))
    ([1.0, 2.0], None)
    """
    different: list[float] = []
    left = counts[counts != 0]
    while left.size:
        different.append(float(left[0]))
        if len(different) > FEW or different[-1] > LARGEST or not different[-1].is_integer():
            return None
        left = left[left != left[0]]
    return different


def _total(one: FloatArray, other: FloatArray) -> FloatArray:
    """The sums of the rows of products."""
    sums: FloatArray = np.einsum("ij,ij->i", one, other)
    return sums
