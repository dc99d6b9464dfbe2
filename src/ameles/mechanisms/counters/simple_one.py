"""Simple counter I: every release is the exact count plus noise of its own.

Theorem      Chan-Shi-Song 2010, 3.1 (catalogue 1): one unit changes the releases by at most
             bound * sum over t <= T of min(t, contributions) in L1
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace; scale T / epsilon for one contribution of size 1
Error        standard deviation about 1.41 T / epsilon at every step
Memory       one exact sum per counter and up to 1024 noise values taken ahead

This is the baseline that every other counter beats.  Its state has the exact count, so it must
stay secret.

>>> from ameles.noise import Zero
>>> run = SimpleOneCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.mechanisms.counters.pure import PureCounter
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SimpleOneCounter(PureCounter):
    """Exact counts, each with independent noise calibrated for all of them."""

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise: the L1 change of all releases, over epsilon."""
        most = min(self.contributions, self.horizon)
        # the changes add up: 1, 2, ..., most, and stay there until the horizon
        changed = most * (most + 1) // 2 + (self.horizon - most) * most
        return self.scale_for(self.bound * changed)

    @property
    def error(self) -> IndependentError:
        """The same law at every step, independent between steps."""
        return IndependentError(self.scale)

    @property
    def memory(self) -> int:
        """The exact sums and the noise taken ahead."""
        return self.columns * (1 + self.ahead)

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return _Independent(noise, self.scale, self.columns)


@dataclass(frozen=True, slots=True)
class _Independent:
    """Fresh noise for every step and counter: nothing to remember."""

    noise: Noise
    scale: Fraction
    columns: int

    def take(self, n: int) -> IntArray:
        return self.noise.laplace(self.scale, (n, self.columns))

    def state(self) -> IntArray:
        return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class IndependentError:
    """One discrete Laplace variable at each step, all independent."""

    scale: Fraction

    @checks_step
    def std(self, t: int) -> float:
        return laplace_sum.std(1, self.scale)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        return laplace_sum.quantile(1, self.scale, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        # independent, so exact: all stay within with probability (1 - each)^steps
        each = -np.expm1(np.log1p(-beta) / steps) if 0 < beta < 1 else beta
        return laplace_sum.quantile(1, self.scale, float(each))

    def between(self, before: int, t: int) -> LaplaceMixture:
        """The law of the noise of a total over steps before + 1, ..., t."""
        return LaplaceMixture((LaplacePart(self.scale, 1.0, 2 if before else 1),))

    def bounds(self, steps: IntArray, beta: float) -> NDArray[np.float64]:
        return np.full(len(steps), float(laplace_sum.quantile(1, self.scale, beta)))

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> NDArray[np.float64]:
        terms = np.where(before > 0, 2, 1)
        return laplace_sum.quantiles(terms, self.scale, beta).astype(np.float64)
