"""The error of comparing with noise: how near the threshold a comparison may go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import checks_step
from ameles.mechanisms import laplace_sum
from ameles.mechanisms.laplace_mixture import LaplaceMixture, Part


@dataclass(frozen=True, slots=True)
class ThresholdError:
    """On which side of the threshold a query is, is told rightly unless it is this close."""

    threshold_scale: Fraction
    query_scale: Fraction

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The distance from the threshold within which query ``t`` may hear wrongly.

        Where the scales are far apart, the two noises one by one can be sharper than their sum.
        """
        parts = Part(self.threshold_scale, 1.0, 1), Part(self.query_scale, 1.0, 1)
        return min(LaplaceMixture(parts).quantile(beta), self.bound_all(1, beta))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for all of the first ``steps`` queries, with probability 1 - beta."""
        return laplace_sum.quantile(1, self.threshold_scale, beta / 2) + laplace_sum.quantile(
            1, self.query_scale, beta / (2 * steps)
        )
