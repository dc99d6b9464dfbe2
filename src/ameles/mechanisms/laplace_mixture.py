"""Sums of independent Laplace variables of different scales and weights: deviations and tails.

Theorem      Y = sum of n_i independent copies of a_i Z_i, Z_i discrete Laplace of scale b_i.
             Chernoff: P(|Y| >= x) <= 2 exp(-h x) prod M_i(a_i h)^n_i for any h with a_i h < 1/b_i
Error        equal parts of weight 1 have the exact tail of ``laplace_sum``.  Otherwise the Chernoff
             bound holds always; from scale 1 on, the law is that of continuous variables but
             for the lattice, and its tail is found by Fourier inversion, which is sharper;
             one is added for the lattice and for the rounding of releases

>>> mixture = LaplaceMixture((Part(Fraction(10), 1.0, 3), Part(Fraction(10), 0.5, 2)))
>>> round(mixture.std, 1)
26.4
>>> mixture.quantile(0.05)
55
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.parameters import refuse
from ameles.mechanisms import laplace_sum

SMOOTH = 1
# The Fourier sum is good to an absolute 1e-13.
FAINTEST = 1e-11


@dataclass(frozen=True, slots=True)
class Part:
    """Equal terms of a sum: ``count`` variables of this scale, each times ``weight``."""

    scale: Fraction
    weight: float
    count: float


@dataclass(frozen=True)
class LaplaceMixture:
    """The law of a sum of Laplace variables.

    ``bounding``: its Chernoff bound, and nothing sharper, bounds the tails of other laws.  Its
    counts need not be whole.
    """

    parts: tuple[Part, ...]
    bounding: bool = False

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(math.fsum(_variance(part) for part in self.parts))

    def tail(self, x: int) -> float:
        """A bound on P(|Y| > x), exact for equal parts and sharp where scales are not small."""
        used = [part for part in self.parts if part.count and part.weight]
        if not used:
            return 0.0
        alike = {(part.scale, part.weight) for part in used} == {(used[0].scale, 1.0)}
        if alike and not self.bounding:
            return laplace_sum.tail(sum(int(part.count) for part in used), used[0].scale, x)
        bound = self._chernoff(x + 1, used)
        sharp = not self.bounding and min(part.scale for part in used) >= SMOOTH
        return (
            min(bound, _continuous(x - 1, used)) if sharp and x > 1 and bound > FAINTEST else bound
        )

    def quantile(self, beta: float) -> int:
        """An integer that |Y| exceeds with probability at most beta."""
        if not 0 < beta < 1:
            raise refuse("beta", "a probability above 0 and below 1", beta)
        low, high = -1, 1 + int(self.std)
        while self.tail(high) > beta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle) > beta else (low, middle)
        return high

    def _chernoff(self, x: float, used: list[Part]) -> float:
        """The bound on P(|Y| >= x)."""
        edges = [math.sinh(1 / (2 * float(part.scale))) for part in used]

        def logarithm(h: float) -> float:
            grown = (
                part.count * math.log1p(-((math.sinh(part.weight * h / 2) / edge) ** 2))
                for part, edge in zip(used, edges, strict=True)
            )
            return -math.fsum(grown) - h * x

        limit = min(1 / (float(part.scale) * part.weight) for part in used)
        best = _minimum(logarithm, limit * (1 - 1e-12))
        return min(1.0, 2 * math.exp(logarithm(best)))


def _variance(part: Part) -> float:
    # 2 q / (1 - q)^2 = 1 / (2 sinh(1 / 2b)^2)
    return part.count * (part.weight / math.sinh(1 / (2 * float(part.scale)))) ** 2 / 2


def _minimum(convex: Callable[[float], float], limit: float) -> float:
    """Where a convex function on (0, limit) is smallest."""
    low, high = 0.0, limit
    for _ in range(80):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if convex(left) < convex(right) else (left, high)
    return (low + high) / 2


def _continuous(x: float, used: list[Part]) -> float:
    """P(|Y| > x) for continuous variables: the characteristic function, summed over a period
    that Y hardly leaves."""
    widths = [(float(part.scale) * part.weight, part.count) for part in used]
    spread = math.sqrt(2 * math.fsum(n * b * b for b, n in widths))
    step = 2 * math.pi / (x + 12 * spread + 40 * max(b for b, _ in widths))
    inside = step * x / math.pi
    for i in range(1, 200_000):
        decay = math.fsum(n * math.log1p((b * i * step) ** 2) for b, n in widths)
        inside += 2 / math.pi * math.exp(-decay) * math.sin(i * step * x) / i
        if decay > 36:
            break
    return min(1.0, max(0.0, 1 - inside))
