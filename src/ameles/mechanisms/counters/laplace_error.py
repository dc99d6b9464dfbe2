"""The error of a counter whose noise at each step is a sum of Laplace variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.mechanisms.laplace.clusters import Clusters, clustered
from ameles.mechanisms.laplace.confined import Walk
from ameles.mechanisms.laplace.mixture import Copies, LaplaceMixture, quantiles, rounded_stds
from ameles.noise.arrays import IntArray


class LaplaceError(ABC):
    """Deviations and bounds from the law of each step's noise."""

    @property
    def rounding(self) -> float:
        """What rounding to whole counts adds to the variance, unless the noise has few values; zero
        if it is whole."""
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
        law = self.law(t)
        return law.rounded_std if self.rounding else law.std

    def stds(self, steps: IntArray) -> NDArray[np.float64]:
        """``std`` at each of these steps, all at once."""
        laws = map(self.law, steps.tolist())
        return rounded_stds(laws) if self.rounding else np.array([law.std for law in laws])

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        return self.law(t).quantile(beta)

    def walk(self, steps: int) -> Walk | None:
        """The noise of the first ``steps`` steps as a walk of walks, if it is one."""
        return None

    def clusters(self, last: int) -> Clusters | None:
        """The weights of the noises of steps up to ``last`` and their neighbours, if they are
        known."""
        return None

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this: exact for walks of walks, elsewhere a
        union bound over steps, or over blocks of them."""
        return _bound_all(self, steps, beta)

    def bounds(self, steps: IntArray, beta: float) -> NDArray[np.float64]:
        """``bound`` at each of these steps, all at once."""
        return quantiles((self.law(t) for t in steps.tolist()), beta).astype(np.float64)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> NDArray[np.float64]:
        """The quantile of ``between`` for each pair of steps, all at once."""
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        laws = (self.between(start, t) for start, t in pairs)
        return quantiles(laws, beta).astype(np.float64)

    def copies_bounds(
        self, before: IntArray, after: IntArray, copies: Sequence[Copies], beta: float
    ) -> NDArray[np.float64]:
        """The quantiles of sums of independent copies of ``between``, each of which may have been
        rounded: a row for each pair of steps, a column for each choice of copies."""
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        laws = [self.between(start, t) for start, t in pairs]
        columns = [quantiles([law.copies(some) for law in laws], beta) for some in copies]
        return np.stack(columns, axis=1).astype(np.float64)


@lru_cache(maxsize=256)
def _bound_all(error: LaplaceError, steps: int, beta: float) -> int:
    union = error.worst_law(steps).quantile(beta / steps)
    walk = error.walk(steps)
    if walk is not None:
        return walk.bound(beta, union)
    clusters = error.clusters(steps)
    if clusters is None:
        return union
    return clustered(clusters, steps=steps, beta=beta, high=union)
