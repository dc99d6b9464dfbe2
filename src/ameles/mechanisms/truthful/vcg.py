"""Private VCG: the outcome that is worth most to all, with payments that make lying useless.

Theorem      Huang-Kannan 2012; Dwork-Roth, section 10.2.3, corrected (catalogue 59).  Outcome o has
             weight exp(epsilon W(o) / 2), W the sum of all values, and agent i pays
             (2 / epsilon)(ln Z(without i) - ln Z) + E[v_i], Z the sum of the weights.  Then the
             truth is best for everybody in expectation, whatever the others say, nobody loses, and
             payments are between 0 and 1.  The text's weight exp(epsilon F / 2n), F the mean value,
             is off by n^2 in the exponent
Neighbours   one agent reports other values
Noise        one exact choice; discrete Laplace on each payment.  A report changes the payment of
             another agent by at most epsilon / 2: the tilt by one agent's values, of range
             epsilon / 2, moves an expectation of range 2 by at most 2 tanh(epsilon / 8), and a
             changed report, of range epsilon, moves E[v_i] by at most tanh(epsilon / 4)
Error        the total value is below the best by at most the exponential mechanism's bound
Memory       nothing is kept

Each payment is told to its agent alone.  Then what all others together see of an agent's report is
``loss``, and what one other agent sees is ``joint_loss``.  Payments are computed in decimal
arithmetic that is refined until their rounding to the grid is certain.

>>> from ameles.noise import Zero
>>> recipe = PrivateVcg(epsilon=1, payment_epsilon="0.1", agents=2, outcomes=2, units=10,
...                     neighbours="replace")
>>> result = recipe.start(Zero()).step([[10, 0], [0, 5]])
>>> result.outcome, [round(float(payment), 4) for payment in result.payments]
(0, [0.0622, 0.0152])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.one_shot.selection import ExponentialError
from ameles.mechanisms.truthful.reports import (
    MOST_AGENTS,
    ReportMechanism,
    exponential_law,
    largest_gain,
    table_of,
)
from ameles.noise.arrays import IntArray

PAYMENT_UNITS = 1 << 20  # payments are multiples of one over this
MOST_CELLS = 1 << 20
DIGITS = 40
MOST_DIGITS = 640


@dataclass(frozen=True, slots=True)
class Auctioned:
    """The public outcome, and for each agent what they pay: a message to that agent alone.

    >>> Auctioned(outcome=2, payments=(Fraction(1, 4), Fraction(0))).payments[0]
    Fraction(1, 4)
    """

    outcome: int
    payments: tuple[Fraction, ...]


@dataclass(frozen=True, kw_only=True)
class PrivateVcg(ReportMechanism[Auctioned]):
    """Chooses an outcome by reported values, and charges payments.

    Values are whole numbers from 0 to ``units``, which are worth 1 together.

    >>> recipe = PrivateVcg(epsilon="0.5", payment_epsilon="0.1", agents=3, outcomes=2, units=4,
    ...                     neighbours="replace")
    >>> print(recipe.loss, "/", recipe.joint_loss)
    epsilon 0.7 / epsilon 0.6
    """

    epsilon: Epsilon = Epsilon()
    payment_epsilon: Epsilon = Epsilon()
    agents: Whole = Whole(1, MOST_AGENTS)
    outcomes: Whole = Whole(1, 2**16)
    units: Whole = Whole(1, 2**20)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.agents * self.outcomes > MOST_CELLS:
            raise BadInput(
                f"Agents times outcomes may be at most {MOST_CELLS}.",
                why="payments are computed exactly, for each of both",
            )

    @property
    def loss(self) -> Pure:
        """The loss of the outcome and of the payments of all other agents."""
        return Pure(self.epsilon + (self.agents - 1) * self.payment_epsilon)

    @property
    def joint_loss(self) -> Pure:
        """What one other agent learns: from the outcome and from their own payment."""
        return Pure(self.epsilon + self.payment_epsilon)

    @property
    def payment_reach(self) -> int:
        """By how many units one report changes another agent's payment at most."""
        return math.ceil(min(Fraction(1), self.epsilon / 2) * PAYMENT_UNITS)

    @property
    def gain(self) -> float:
        """What a lie could gain without payments; with them it gains nothing."""
        return largest_gain(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """One more unit of value makes an outcome e^rate times likelier."""
        return self.epsilon / (2 * self.units)

    @property
    def error(self) -> ExponentialError:
        """How far the total value may be below the best, in units."""
        return ExponentialError(1 / self.rate, Fraction(self.outcomes - 1))

    def checked(self, x: object) -> IntArray:
        return table_of(x, self.agents, self.outcomes, self.units)

    def release(self, x: IntArray, noise: Noise) -> Auctioned:
        total = x.sum(axis=0)
        outcome = noise.pick(total.max() - total, self.rate)
        scale = self.payment_reach / self.payment_epsilon
        drawn = noise.laplace(scale, self.agents).tolist()
        exact = self.payment_units(x)
        paid = (Fraction(u + d, PAYMENT_UNITS) for u, d in zip(exact, drawn, strict=True))
        return Auctioned(outcome, tuple(paid))

    def law(self, values: Sequence[Sequence[int]]) -> list[float]:
        """The probability of each outcome."""
        total = self.checked(values).sum(axis=0).tolist()
        return exponential_law([Fraction(one) for one in total], self.rate)

    def payment_units(self, x: IntArray) -> list[int]:
        """The exact payments, rounded to units: the same on every machine."""
        units: list[int | None] = [None] * self.agents
        digits = DIGITS
        while None in units:
            for agent, payment in self._payments(x, digits):
                if units[agent] is None:
                    units[agent] = _rounded(payment, digits)
            digits *= 2
        return [unit for unit in units if unit is not None]

    def _payments(self, x: IntArray, digits: int) -> list[tuple[int, Decimal]]:
        with localcontext() as context:
            context.prec = digits
            rate = Decimal(self.rate.numerator) / Decimal(self.rate.denominator)
            total = x.sum(axis=0)
            weights = _weights(total, rate)
            whole = sum(weights, Decimal(0))
            payments = []
            for agent in range(self.agents):
                without = _weights(total - x[agent], rate)
                # weights are relative to the best outcome, with and without the agent
                shift = rate * int((total - x[agent]).max() - total.max())
                logs = (sum(without, Decimal(0)) / whole).ln() + shift
                worth = [w * int(v) for w, v in zip(weights, x[agent], strict=True)]
                mean = sum(worth, Decimal(0)) / (whole * self.units)
                half = Decimal(self.epsilon.numerator) / Decimal(2 * self.epsilon.denominator)
                payments.append((agent, logs / half + mean))
            return payments


def _weights(total: IntArray, rate: Decimal) -> list[Decimal]:
    top = int(np.max(total))
    return [(rate * (int(one) - top)).exp() for one in total]


def _rounded(payment: Decimal, digits: int) -> int | None:
    """The nearest unit; None if these digits do not tell it.  At the last, halves are up."""
    with localcontext() as context:
        context.prec = digits
        doubt = Decimal(10) ** (20 - digits)  # far above what rounding can have added up to
        low, high = (
            ((payment + side) * PAYMENT_UNITS + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
            for side in (-doubt, doubt)
        )
    return int(high) if low == high or digits >= MOST_DIGITS else None
