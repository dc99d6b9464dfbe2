"""How far apart two finite laws are, exactly or with a certified upper bound.

Theorem      (epsilon, delta)-privacy of a pair is hockey-stick divergence <= delta, that is
             delta-approximate max-divergence <= epsilon, in both directions; the positive
             part is taken outcome by outcome, which is the Jordan decomposition
             (catalogue 50, 52)
Direction    every function measures ``law`` against ``other``: privacy needs both orders
Rounding     ratios and total variation are exact; what has a logarithm or an exponential
             in it is an upper bound of 15 digits
Infinite     if ``law`` has an outcome that ``other`` lacks, a divergence may be
             ``math.inf``, the only float that is returned

>>> yes = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
>>> no = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
>>> max_ratio(yes, no)
Fraction(3, 1)
>>> total_variation(yes, no), hockey_stick_at(yes, no, ratio=2)
(Fraction(1, 2), Fraction(1, 4))
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeAlias, TypeVar

from ameles.accounting.arguments import amount
from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, refuse

Outcome = TypeVar("Outcome", bound=Hashable)
Divergence: TypeAlias = Fraction | float  # a float only for infinity

# exp(690) is above 10**299, so from there on this smaller factor gives an upper bound, and
# the fraction stays short.
STEEP, STEEP_FACTOR = 690, Fraction(10**299)


def hockey_stick(
    law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction], *, epsilon: Exact
) -> Fraction:
    """The delta at this epsilon: an upper bound on the sum of (law - exp(epsilon) other)_+.

    An upper bound because exp(epsilon) is replaced by a fraction just below it.  At
    epsilon 0 this is the total variation, exactly.

    >>> yes = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
    >>> no = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
    >>> hockey_stick(yes, no, epsilon=0), round(float(hockey_stick(yes, no, epsilon="0.5")), 4)
    (Fraction(1, 2), 0.3378)
    """
    loss = amount(epsilon, "epsilon")
    if loss == 0:
        return total_variation(law, other)
    factor = Fraction(Interval.of(loss).exp().low) if loss < STEEP else STEEP_FACTOR
    return Interval.of(hockey_stick_at(law, other, ratio=factor)).up()


def hockey_stick_at(
    law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction], *, ratio: Exact
) -> Fraction:
    """The delta where exp(epsilon) is the given ratio, exactly."""
    factor = ratio if isinstance(ratio, Fraction) else amount(ratio, "ratio")
    if factor < 1:
        raise refuse("ratio", "exp(epsilon), so at least 1", ratio)
    return sum(
        (max(Fraction(0), mass - factor * against) for mass, against in _pairs(law, other)),
        Fraction(0),
    )


def max_ratio(law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> Divergence:
    """The largest ratio of probabilities, exactly; infinite if ``other`` lacks an outcome."""
    pairs = [(mass, against) for mass, against in _pairs(law, other) if mass > 0]
    if any(against == 0 for _, against in pairs):
        return math.inf
    return max(mass / against for mass, against in pairs)


def max_divergence(
    law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]
) -> Divergence:
    """The logarithm of the largest ratio, rounded up: the pure epsilon of this direction.

    >>> yes = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
    >>> no = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
    >>> round(float(max_divergence(yes, no)), 4)  # ln 3
    1.0986
    """
    return _log_up(max_ratio(law, other))


def approximate_max_divergence(
    law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction], *, delta: Exact
) -> Divergence:
    """The least epsilon at which the hockey-stick divergence is at most delta, rounded up.

    It is the largest ln((law(S) - delta) / other(S)) over events S, and zero or more; only
    events of the outcomes with the largest ratios need to be tried.

    >>> yes = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
    >>> no = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
    >>> round(float(approximate_max_divergence(yes, no, delta="0.25")), 4)  # ln 2
    0.6931
    """
    allowed = amount(delta, "delta")
    if allowed >= 1:
        raise refuse("delta", "zero or more, and below 1", delta)
    pairs = [(mass, against) for mass, against in _pairs(law, other) if mass > 0]
    pairs.sort(key=lambda pair: pair[1] / pair[0])
    above, below, largest = Fraction(0), Fraction(0), Fraction(1)
    for mass, against in pairs:
        above, below = above + mass, below + against
        if above > allowed:
            if below == 0:
                return math.inf
            largest = max(largest, (above - allowed) / below)
    return _log_up(largest)


def total_variation(law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> Fraction:
    """The largest difference of an event's probabilities, exactly."""
    return hockey_stick_at(law, other, ratio=1)


def kl_divergence(law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> Divergence:
    """The mean of the log-ratio under ``law``, in nats, rounded up.

    >>> yes = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
    >>> no = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
    >>> round(float(kl_divergence(yes, no)), 4)  # ln(3) / 2
    0.5493
    """
    total = Interval.of(0)
    for mass, against in _pairs(law, other):
        if mass == 0:
            continue
        if against == 0:
            return math.inf
        if mass != against:  # so that equal laws are at distance 0, exactly
            total = total + mass * Interval.of(mass / against).ln()
    return max(Fraction(0), total.up())


def total_variation_bound(*, epsilon: Exact) -> Fraction:
    """The largest total variation under pure epsilon: tanh(epsilon/2), rounded up.

    Randomized response attains it.

    >>> round(float(total_variation_bound(epsilon=1)), 4)
    0.4621
    """
    return Interval.of(amount(epsilon, "epsilon")).half_tanh().up()


def kl_bound(*, epsilon: Exact) -> Fraction:
    """The largest KL divergence under pure epsilon: epsilon tanh(epsilon/2) nats, rounded up.

    Randomized response attains it; the printed epsilon (exp(epsilon) - 1) is true but
    loose, by a factor of 3.7 at epsilon 1.

    >>> round(float(kl_bound(epsilon=1)), 4)
    0.4621
    """
    loss = Interval.of(amount(epsilon, "epsilon"))
    return (loss * loss.half_tanh()).up()


def _log_up(ratio: Divergence) -> Divergence:
    if isinstance(ratio, float):
        return ratio
    return Fraction(0) if ratio <= 1 else Interval.of(ratio).ln().up()


def _exact_mass(mass: object) -> bool:
    return isinstance(mass, int | Fraction) and mass >= 0


def _pairs(
    law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """Both probabilities of every outcome that either law has, checked."""
    for name, masses in (("law", law), ("other", other)):
        if not all(_exact_mass(mass) for mass in masses.values()):
            raise BadInput(
                f"The probabilities of '{name}' must be fractions from 0 on.",
                tip="Fraction(1, 4); a float would make an exact result inexact",
            )
        total = sum(masses.values(), Fraction(0))
        if total != 1:
            raise BadInput(
                f"The probabilities of '{name}' must add up to exactly 1. "
                f"Got a sum of about {float(total):.12g} instead."
            )
    outcomes = dict.fromkeys([*law, *other])
    zero = Fraction(0)
    return [(Fraction(law.get(o, zero)), Fraction(other.get(o, zero))) for o in outcomes]
