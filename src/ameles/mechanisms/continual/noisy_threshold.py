"""A noisy threshold: how numbers are compared with it, the replies, and how wrong they may be.

The noise of the threshold is drawn once and hides every "below"; each number that is compared has
fresh noise of its own.  After the last allowed "above" the run ignores all inputs.

>>> str(Reply(Said.ABOVE, 12)), str(Reply(Said.HALTED))
('above: 12', 'halted')
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import IntArray


class Said(Enum):
    """The reply to a query."""

    BELOW = "below"
    ABOVE = "above"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply, with a noisy answer if one was paid for and the query was above."""

    said: Said
    answer: int | None = None

    def __str__(self) -> str:
        return self.said.value if self.answer is None else f"{self.said.value}: {self.answer}"


class ThresholdRun(SteppedRun[object, Reply]):
    """A run that compares numbers with zero under noise, until ``aboves`` of them were above."""

    def __init__(
        self,
        recipe: Mechanism[ThresholdRun],
        state: State,
        noise: Noise,
        *,
        threshold_scale: Fraction,
        query_scale: Fraction,
        aboves: int,
    ) -> None:
        super().__init__(recipe, state)
        self._noise = noise
        self._query_scale = query_scale
        self._most = aboves
        if state.parts:
            self._rho, self._aboves = (int(value) for value in state.parts[0])
        else:  # drawn here, and never again
            self._rho, self._aboves = self._draw(threshold_scale), 0

    @property
    def halted(self) -> bool:
        """Whether all aboves are used up: public, since every one of them was."""
        return self._aboves == self._most

    def _parts(self) -> tuple[IntArray, ...]:
        """The noise of the threshold and how many were above."""
        return (np.array([self._rho, self._aboves], dtype=np.int64),)

    def _is_above(self, distance: int) -> bool:
        """Whether a distance from the threshold is above: one comparison, with fresh noise."""
        if distance + self._draw(self._query_scale) < self._rho:
            return False
        self._aboves += 1
        if self.halted:
            self._rho = 0  # it will not be asked again
        return True

    def _draw(self, scale: Fraction) -> int:
        return int(self._noise.laplace(scale, 1)[0])


@dataclass(frozen=True, slots=True)
class ThresholdError:
    """A reply is right unless the query is this close to the threshold."""

    threshold_scale: Fraction
    query_scale: Fraction

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The distance from the threshold within which the reply to query ``t`` may be wrong.

        Where the scales are far apart, the two noises one by one can be sharper than their sum.
        """
        parts = LaplacePart(self.threshold_scale, 1.0, 1), LaplacePart(self.query_scale, 1.0, 1)
        return min(LaplaceMixture(parts).quantile(beta), self.bound_all(1, beta))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for all of the first ``steps`` queries, with probability 1 - beta."""
        return laplace_sum.quantile(1, self.threshold_scale, beta / 2) + laplace_sum.quantile(
            1, self.query_scale, beta / (2 * steps)
        )
