"""The error of the values of a key, from the step at which it became public.

Its noise begins at that step, so it is smaller the later the key was found.

>>> from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
>>> recipe = KeyDiscovery(epsilon=6, delta=1e-9, horizon=100, records=32)
>>> [round(recipe.value_error(since).std(100), 1) for since in (1, 50, 100)]
[18.3, 16.9, 8.7]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ameles.core.error import checks_step
from ameles.mechanisms.counters.gaussian.error import (
    GaussianError,
    GaussianSum,
    quantile,
    rounded_variance,
)
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise, Floats


@dataclass(frozen=True, slots=True)
class KeyValueError(GaussianError):
    """The noise of one cell of a key that became public at step ``since``."""

    law: EncodedNoise
    since: int = 1

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation at step ``t``."""
        return math.sqrt(rounded_variance(self._variance(0, t)))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        law = self.between(0, t)
        return quantile(law.variance, beta, factor=law.factor, slack=law.slack)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for the first ``steps`` steps together."""
        return max(self.bound(t, beta / steps) for t in some_steps(self.since, steps))

    def between(self, before: int, t: int) -> GaussianSum:
        """The law of the noise of what came in steps before + 1, ..., t.

        A ``before`` that is not after the discovery stands for the value at ``t`` itself.
        """
        if before < self.since:
            before = 0
        slack = _slack(self.law, t) + (1 + _slack(self.law, before) if before else 0.0)
        return GaussianSum(self._variance(before, t), self.law.factor(t), slack)

    def rms(self, steps: int) -> float:
        """The root of the mean variance over the first ``steps`` steps."""
        some = [t for t in some_steps(self.since, steps) if t >= self.since]
        return math.sqrt(sum(self._variance(0, t) for t in some) / len(some))

    def _variance(self, before: int, t: int) -> float:
        if t < self.since:
            return 0.0
        return float(_variances(self.law, before, t)[self.since - 1])


@lru_cache(maxsize=128)
def _variances(law: EncodedNoise, before: int, t: int) -> Floats:
    return law.variances(t, before)


@lru_cache(maxsize=4096)
def _slack(law: EncodedNoise, t: int) -> float:
    return law.slack(t)


# With so many steps or fewer all are looked at.
ALL_STEPS = 512


def some_steps(since: int, steps: int) -> list[int]:
    """Steps among which that of the largest variance is, or one that is close to it."""
    first = min(since, steps)
    count = min(steps - first + 1, ALL_STEPS)
    return sorted({first + (steps - first) * i // max(count - 1, 1) for i in range(count)})
