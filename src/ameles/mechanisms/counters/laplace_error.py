"""The error of a counter whose noise at each step is a sum of Laplace variables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.mechanisms.laplace.mixture import LaplaceMixture, quantiles
from ameles.noise.arrays import IntArray


class LaplaceError(ABC):
    """Deviations and bounds from the law of each step's noise."""

    @property
    def rounding(self) -> float:
        """The variance that rounding to whole counts adds; zero if the noise is already whole."""
        return 0.0

    @abstractmethod
    def law(self, t: int) -> LaplaceMixture:
        """The law of the noise at step t."""

    @abstractmethod
    def worst_law(self, steps: int) -> LaplaceMixture:
        """A law whose tail bounds those of the first ``steps`` steps."""

    @abstractmethod
    def between(self, before: int, t: int) -> LaplaceMixture:
        """The law of the noise of a total over steps before + 1, ..., t: of a difference."""

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        return math.sqrt(self.law(t).std ** 2 + self.rounding)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        return self.law(t).quantile(beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this: a union bound."""
        return self.worst_law(steps).quantile(beta / steps)

    def bounds(self, steps: IntArray, beta: float) -> NDArray[np.float64]:
        """``bound`` at each of these steps, all at once."""
        return quantiles((self.law(t) for t in steps.tolist()), beta).astype(np.float64)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> NDArray[np.float64]:
        """The quantile of ``between`` for each pair of steps, all at once."""
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        laws = (self.between(start, t) for start, t in pairs)
        return quantiles(laws, beta).astype(np.float64)
