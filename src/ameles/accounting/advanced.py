"""Advanced composition: many small losses add up like a random walk.

Theorem      k mechanisms of (epsilon, delta) each, fixed in advance, are together
             (epsilon sqrt(2k ln(1/slack)) + k epsilon (exp(epsilon) - 1), k delta + slack)
             for every slack above 0 (Dwork-Roth, Thm 3.20).  A version with
             exp(slack) - 1 was printed and is false: catalogue 51
Sharper      k epsilon tanh(epsilon/2) in the place of the last term: the largest mean of
             the privacy loss, that of randomized response
Adaptive     in the choice of mechanisms, not of their parameters: for those take a
             ``Filter`` of zCDP
Rounding     epsilon up; an allowed epsilon down; delta exact

For one number that is never worse than any of these, see ``best``.

>>> print(float(advanced(Pure(1), count=100, slack="1e-6").epsilon))
98.7769334235703
>>> print(float(advanced(Pure(1), count=100, slack="1e-6", sharp=False).epsilon))
224.393400543474
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.arguments import positive, probability, repetitions
from ameles.accounting.composition import meaningful
from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Pure
from ameles.core.parameters import Exact


def advanced(
    each: Pure | Approx, *, count: SupportsIndex, slack: Exact, sharp: bool = True
) -> Approx:
    """The loss of ``count`` mechanisms with loss ``each``, if delta may grow by ``slack``.

    With ``sharp``, the formula uses tanh(epsilon/2) for the mean loss, otherwise the printed
    exp(epsilon) - 1.  The result is an upper bound: every step is in intervals, and
    their upper end is rounded up.
    """
    k = repetitions(count, "count")
    extra = probability(slack, "slack", why="ln(1/slack) has no value at zero")
    failures = each.delta if isinstance(each, Approx) else Fraction(0)
    delta = meaningful(k * failures + extra)
    loss = Interval.of(each.epsilon)
    mean = loss * (loss.half_tanh() if sharp else loss.exp_less_one())
    deviation = loss * (-2 * k * Interval.of(extra).ln()).sqrt()
    return Approx((deviation + k * mean).up(), delta)


def even_share(*, epsilon: Exact, delta: Exact, count: SupportsIndex) -> Pure:
    """The epsilon of each of ``count`` pure mechanisms so that all are (epsilon, delta)-private.

    The corollary epsilon / sqrt(8 k ln(1/delta)), rounded down.  It rests on
    k share (exp(share) - 1) <= epsilon/2, which is false if epsilon is large compared
    with delta; such arguments are refused, and the error has the composed value.

    >>> share = even_share(epsilon=1, delta="1e-6", count=100)
    >>> round(float(share.epsilon), 4)
    0.0095
    """
    total, k = positive(epsilon, "epsilon"), repetitions(count, "count")
    slack = probability(delta, "delta")
    share = (total / (-8 * k * Interval.of(slack).ln()).sqrt()).down()
    drift = k * Interval.of(share) * Interval.of(share).exp_less_one()
    if drift.high > Interval.of(total / 2).low:
        composed = advanced(Pure(share), count=k, slack=slack, sharp=False).epsilon
        raise BadInput(
            f"The rule epsilon / sqrt(8 k ln(1/delta)) gives {float(share):.6g} for each of {k}, "
            f"which compose to {float(composed):.6g}, not to {float(total):.6g}.",
            why="its side condition k e0 (exp(e0) - 1) <= epsilon/2 does not hold",
            tip="optimal_each(count=..., epsilon=..., delta=...), which has no side condition",
        )
    return Pure(share)
