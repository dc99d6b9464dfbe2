"""Two-outcome vote: a private majority for agents who mind what their vote tells.

Theorem      Dwork-Roth, section 10.3, corrected (catalogue 61).  Agents report a *vote*.  Outcome 1
             wins if (votes for 1) - (votes for 0) + Lap(2 / epsilon) > 0.  A vote moves the margin
             by 2, so this is epsilon-private, and a false vote can only move the outcome away from
             what the agent prefers.  Who prefers one outcome by more than twice the cost of epsilon
             votes truthfully.  Reports of *how much* one prefers something would be exaggerated:
             see docs/corrections.md
Neighbours   one agent votes otherwise
Noise        discrete Laplace, scale 2 / epsilon, on the margin
Error        a margin above the bound is decided rightly, with probability at least 1 - beta
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> TwoOutcomeVote(epsilon=1, agents=3, neighbours="replace").start(Zero()).step([1, 0, 1])
1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.truthful.reports import PrivateChoice, reports_of
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class TwoOutcomeVote(PrivateChoice[int]):
    """The outcome, 0 or 1, that a noisy majority voted for.

    >>> recipe = TwoOutcomeVote(epsilon="0.05", agents=3, neighbours="replace")
    >>> round(recipe.law([1, 1, 0])[1], 5)
    0.50625
    """

    epsilon: Epsilon = Epsilon()

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the margin, which one vote changes by two."""
        return 2 / self.epsilon

    @property
    def error(self) -> GeometricError:
        """How far the margin may be off."""
        return GeometricError(self.scale, 1)

    def truthful_for(self, preference: float, cost: float) -> bool:
        """Whether an agent votes truthfully who gains ``preference`` if the preferred outcome wins,
        and to whom a loss of epsilon costs at most ``cost``."""
        return preference > 2 * cost

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, 1)

    def release(self, x: IntArray, noise: Noise) -> int:
        margin = 2 * int(x.sum()) - self.agents
        return int(margin + int(noise.laplace(self.scale, 1)[0]) > 0)

    def law(self, reports: Sequence[int]) -> list[float]:
        """The probability of each outcome, from the exact tail of the noise."""
        margin = 2 * int(self.checked(reports).sum()) - self.agents
        ratio = math.exp(-1 / float(self.scale))
        # P(noise > -margin) for P(noise = k) proportional to ratio^|k|
        if margin <= 0:
            one = ratio ** (1 - margin) / (1 + ratio)
        else:
            one = 1 - ratio**margin / (1 + ratio)
        return [1 - one, one]
