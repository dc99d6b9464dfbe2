"""What a privacy loss costs an agent: measures of the literature, as numbers (catalogue 62).

``loss_cost`` is the linear model; ``outcome_cost`` looks at the outcome that came;
``information_cost`` at what the outcome tells on average.  None exceeds epsilon times the value,
and the information is at most epsilon tanh(epsilon / 2) nats.

>>> loss_cost("0.1", value=3)
Fraction(3, 10)
>>> laws = [0.75, 0.25], [0.25, 0.75]  # of the outcome, for an answer of no and of yes
>>> round(outcome_cost(*laws, outcome=1), 4), round(information_cost(*laws), 4)
(1.0986, 0.1887)
>>> round(largest_information(1), 4)
0.6667
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, exact, refuse, whole


def loss_cost(epsilon: Exact, *, value: Exact) -> Fraction:
    """What a loss of epsilon costs at most who values privacy at so much for each epsilon.

    >>> loss_cost(2, value="0.5")
    Fraction(1, 1)
    """
    return exact(epsilon, "epsilon") * exact(value, "value")


def outcome_cost(no: Sequence[float], yes: Sequence[float], *, outcome: int) -> float:
    """How much this outcome speaks for one of the two answers: the absolute log of the ratio.

    >>> outcome_cost([0.5, 0.5], [0.5, 0.5], outcome=0)
    0.0
    """
    _check(no, yes)
    whole(outcome, "outcome", low=0, high=len(no) - 1)
    if not (no[outcome] and yes[outcome]):
        return 0.0 if no[outcome] == yes[outcome] else math.inf
    return abs(math.log(yes[outcome] / no[outcome]))


def information_cost(no: Sequence[float], yes: Sequence[float], *, prior: float = 0.5) -> float:
    """The mutual information of the answer and the outcome, in bits.

    It depends on the prior: an answer that is known anyway cannot be told.

    >>> information_cost([1, 0], [0, 1]), information_cost([1, 0], [0, 1], prior=1)
    (1.0, 0.0)
    """
    _check(no, yes)
    if not 0 <= prior <= 1:
        raise refuse("prior", "a probability", prior)
    total = 0.0
    for p, q in zip(no, yes, strict=True):
        mixed = (1 - prior) * p + prior * q
        for share, one in ((1 - prior, p), (prior, q)):
            if share * one:
                total += share * one * math.log2(one / mixed)
    return total


def largest_information(epsilon: Exact) -> float:
    """The most bits that the outcome of an epsilon-private mechanism tells about one answer.

    >>> round(largest_information("0.1"), 5)
    0.00721
    """
    loss = float(exact(epsilon, "epsilon"))
    return loss * math.tanh(loss / 2) / math.log(2)


def _check(no: Sequence[float], yes: Sequence[float]) -> None:
    for law in (no, yes):
        if len(law) != len(no) or not (
            min(law, default=-1) >= 0 and abs(math.fsum(law) - 1) < 1e-9
        ):
            raise BadInput("Both laws need a probability for each outcome, which add up to 1.")
