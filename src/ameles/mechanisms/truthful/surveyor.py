"""Sensitive surveyor: buys private answers from people who name their price for privacy.

Theorem      Ghosh-Roth 2011 (catalogue 60).  Agents name a value v: a loss of epsilon costs them
             v epsilon.  With n agents and a budget B, answers are bought from the k agents with the
             smallest values, k the largest with v_k / (n - k) <= B / k.  The estimate is their sum,
             plus (n - k) / 2, plus Laplace noise of scale n - k, so bought answers lose
             1 / (n - k) and others nothing.  Each is paid min(B / k, v_(k+1) / (n - k)), which
             does not depend on their own value: naming the true value is best, and nobody loses
Neighbours   one agent has the other answer
Noise        discrete Laplace, scale n - k
Error        (n - k) / 2 for the answers that were not bought, and the quantile of the noise
Memory       nothing is kept

The values are **not protected**: they are parameters of the recipe, which is public, because no
mechanism can protect them and pay what they ask (Ghosh and Roth's second result).

>>> from ameles.noise import Zero
>>> recipe = SurveyorAuction(
...     privacy_values=[1, 3, 2, 9, 8, 7, 9, 9], budget=2, neighbours="replace")
>>> recipe.bought, recipe.payment, recipe.epsilon
((0, 1, 2), Fraction(2, 3), Fraction(1, 5))
>>> recipe.start(Zero()).step([1, 0, 1, 1, 1, 0, 0, 1])
4.5
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, Number, OptionalWhole, exact
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.truthful.reports import MOST_AGENTS, Numbers, ReportMechanism, reports_of
from ameles.noise.arrays import IntArray

RICHEST = 10**12


@dataclass(frozen=True, kw_only=True)
class SurveyorAuction(ReportMechanism[float]):
    """Estimates how many agents answer yes, from answers that a budget can buy.

    ``privacy_values`` has one number for each agent.  ``buy`` is how many answers to buy, instead
    of a budget.

    >>> SurveyorAuction(privacy_values=[5, 9], budget=1, neighbours="replace")
    Traceback (most recent call last):
    ameles.core.exceptions.BadInput: error[input]: This budget buys no answer.
      why: even the cheapest answer costs more, at the privacy loss that it would have
      try: a larger budget, or more agents
    """

    privacy_values: Numbers = Numbers()
    budget: Number = Number(0, RICHEST, 0)
    buy: OptionalWhole = OptionalWhole(1, MOST_AGENTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.buy is None) == (not self.budget):
            raise BadInput("Exactly one of 'budget' and 'buy' must be given, above 0.")
        if self.buy is not None and self.buy >= self.agents:
            raise BadInput(
                f"Of {self.agents} agents at most {self.agents - 1} can be bought.",
                why="the privacy loss of those is one over the number of the others",
            )
        if not self.count:
            raise BadInput(
                "This budget buys no answer.",
                why="even the cheapest answer costs more, at the privacy loss that it would have",
                tip="a larger budget, or more agents",
            )

    @property
    def agents(self) -> int:
        """How many agents there are."""
        return len(self.privacy_values)

    @property
    def order(self) -> tuple[int, ...]:
        """The agents by their values, the cheapest first; of equals the first."""
        return tuple(
            sorted(range(self.agents), key=lambda agent: (self.privacy_values[agent], agent))
        )

    @property
    def count(self) -> int:
        """How many answers are bought: k."""
        if self.buy is not None:
            return self.buy
        prices = sorted(self.privacy_values)
        fits = [
            k for k in range(1, self.agents) if prices[k - 1] * k <= self.budget * (self.agents - k)
        ]
        return max(fits, default=0)

    @property
    def bought(self) -> tuple[int, ...]:
        """The agents whose answers are bought."""
        return tuple(sorted(self.order[: self.count]))

    @property
    def payment(self) -> Fraction:
        """What each of them is paid."""
        critical = self.privacy_values[self.order[self.count]] / (self.agents - self.count)
        return critical if self.buy is not None else min(self.budget / self.count, critical)

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of a bought answer."""
        return Fraction(1, self.agents - self.count)

    @property
    def loss(self) -> Pure:
        """That loss; an answer that is not bought loses nothing."""
        return Pure(self.epsilon)

    @property
    def error(self) -> SurveyError:
        """How far the estimate may be from the number of yes."""
        return SurveyError(self.agents - self.count)

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, 1)

    def release(self, x: IntArray, noise: Noise) -> float:
        total = int(x[list(self.bought)].sum())
        others = self.agents - self.count
        drawn = int(noise.laplace(Fraction(others), 1)[0])
        return total + others / 2 + drawn


@dataclass(frozen=True, slots=True)
class SurveyError:
    """The answers that were not bought, and the noise."""

    others: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The estimate is this close with probability at least 1 - beta."""
        return self.others / 2 + GeometricError(Fraction(self.others), 1).bound(1, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for so many estimates together."""
        return self.bound(1, beta / steps)


def surveyor_for_accuracy(
    values: Sequence[Exact],
    *,
    error: Exact,
    neighbours: Neighbours | str = Neighbours.REPLACE,
) -> SurveyorAuction:
    """Buys as few answers as an error of at most ``error`` needs, with probability 2/3.

    >>> surveyor_for_accuracy([1, 3, 2, 9, 8, 7, 9, 9], error=10).count
    2
    """
    agents = len(values)
    # an error of (n - k)(1/2 + ln 3) is exceeded with probability 1/3 at most
    others = math.floor(float(exact(error, "error")) / (0.5 + math.log(3)))
    if others < 1:
        raise BadInput(
            "So small an error cannot be bought.", why="one answer at least stays private"
        )
    return SurveyorAuction(
        privacy_values=values, buy=max(1, agents - others), neighbours=neighbours
    )
