"""The two-sided laws of integer noise: one family, two members.

P(k) is proportional to exp(-linear * |k| - quadratic * k**2).  The discrete Laplace law
has linear = 1 / scale, the discrete Gaussian quadratic = 1 / (2 * variance).  The
family is convenient because its tail beyond any point is in the family again.

>>> Law.laplace(Fraction(2)).exponent(-3)
Fraction(3, 2)
>>> Law.gaussian(Fraction(2)).exponent(-3)
Fraction(9, 4)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Law:
    """Integers k with probability proportional to exp(-linear |k| - quadratic k**2)."""

    linear: Fraction
    quadratic: Fraction

    @classmethod
    def laplace(cls, scale: Fraction) -> Law:
        """The discrete Laplace law."""
        return cls(1 / scale, Fraction(0))

    @classmethod
    def gaussian(cls, variance: Fraction) -> Law:
        """The discrete Gaussian law."""
        return cls(Fraction(0), 1 / (2 * variance))

    def exponent(self, k: int) -> Fraction:
        """Minus the logarithm of the weight of k, which is 0 at k = 0."""
        return self.linear * abs(k) + self.quadratic * k * k

    def slope(self, k: int) -> Fraction:
        """How fast the exponent grows at k >= 0: exponent(k + y) = exponent(k) +
        slope(k) * y + quadratic * y**2."""
        if not self.quadratic:  # fractions are slow, and Laplace noise is asked for often
            return self.linear
        return self.linear + 2 * self.quadratic * k

    def reach(self, level: int) -> int:
        """The first k > 0 whose exponent is at least ``level``."""
        high = 1
        while self.exponent(high) < level:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.exponent(middle) < level else (low, middle)
        return high
