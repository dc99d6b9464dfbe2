"""The error of the transformation: how much each of its noises may take, and what they sum to.

Theorem      catalogue 14, with the exact quantiles of discrete noise in place of its logarithms:
             T comparisons, T sums of L threshold noises and k updates all stay within A_c, A_t
             and A_a with probability 1 - beta / 2, each allowed beta / 2 / (2T + k).  Then, with
             a threshold of at least d + A_c + A_t + A_a, a step is an update only if the answer
             moved by more than d since the last one, and at any other step the answer is
             within threshold + A_c + A_t of the published value
Error        threshold + A_c + A_t from the algorithm's answer, and its own error on top
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import Error, checks_step
from ameles.core.parameters import refuse
from ameles.mechanisms.laplace import equal_sums as laplace_sum


@dataclass(frozen=True, slots=True)
class Allowances:
    """What the noises stay within, in units of the grid."""

    comparison: int
    threshold: int
    update: int

    @property
    def total(self) -> int:
        """What the threshold needs above the jump so that only jumps are updates."""
        return self.comparison + self.threshold + self.update


@dataclass(frozen=True, slots=True)
class Scales:
    """The noises of the transformation: ``levels`` threshold noises at a time, ``changes``
    updates."""

    threshold: Fraction
    decision: Fraction
    levels: int
    changes: int

    def allowances(self, steps: int, beta: float) -> Allowances:
        """All noises of this many steps are within these with probability 1 - beta / 2.

        The other half of beta is for the algorithm's own error.
        """
        if not 0 < beta < 1:
            raise refuse("beta", "a probability above 0 and below 1", beta)
        each = beta / 2 / (2 * steps + self.changes)
        once = laplace_sum.quantile(1, self.decision, each)
        return Allowances(
            comparison=once,
            threshold=laplace_sum.quantile(self.levels, self.threshold, each),
            update=once if self.changes else 0,
        )


@dataclass(frozen=True, slots=True)
class ContinualError:
    """How far the published values are from the truth, halts counted as failures.

    Where the threshold was chosen for a larger beta, a
    halt cannot be excluded with that confidence, and the bound is infinite.
    """

    answers: Error
    scales: Scales
    threshold: int
    jump: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """As for all steps up to ``t``: an update then, or a halt, comes from any of them."""
        return self.bound_all(t, beta)

    def published(self, t: int, beta: float) -> float:
        """One value that was published at step ``t``, and is no halt, is this close.

        If the step is an update its value's noise is within A_a; if not, the comparison says that
        the answer is within threshold + A_c + A_t.  Both hold unless this step's own noises
        are larger; those of other steps do not matter, so this is less than ``bound``.
        """
        each = beta / 6
        once = laplace_sum.quantile(1, self.scales.decision, each)
        above = laplace_sum.quantile(self.scales.levels, self.scales.threshold, each)
        from_answer = max(once, self.threshold + once + above)
        return self.answers.bound(t, beta / 2) + from_answer

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` values are this close, and none is a halt."""
        allowed = self.scales.allowances(steps, beta)
        if self.threshold < self.jump + allowed.total:
            return math.inf
        from_answer = self.threshold + allowed.comparison + allowed.threshold
        return self.answers.bound_all(steps, beta / 2) + from_answer
