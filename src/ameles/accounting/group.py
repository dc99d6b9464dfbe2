"""Group privacy: what is promised to several units together.

Theorem      k units: pure k * epsilon; zCDP k² * rho (Bun-Steinke 2016, Prop 1.9);
             (k epsilon, delta (exp(k epsilon) - 1) / (exp(epsilon) - 1)), from applying
             (epsilon, delta) along a chain of k neighbours (Dwork-Roth, Thm 2.2 with the
             factor that its delta needs)
Rounding     exact but for the last delta, which is rounded up

Correlated rows are a group too: if k rows always change together, this is their loss.

>>> group(Pure("0.1"), size=3)
Pure(epsilon=Fraction(3, 10))
>>> group(Concentrated("0.1"), size=3)
Concentrated(rho=Fraction(9, 10))
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.arguments import repetitions
from ameles.accounting.composition import meaningful
from ameles.accounting.interval import Interval
from ameles.core.loss import Approx, Concentrated, Loss, Pure


def group(loss: Loss, *, size: SupportsIndex) -> Loss:
    """The loss of a group of ``size`` units, where ``loss`` is that of one."""
    members = repetitions(size, "size")
    match loss:
        case Pure():
            return Pure(loss.epsilon * members)
        case Concentrated():
            return Concentrated(loss.rho * members**2)
    if members == 1 or loss.delta == 0 or loss.epsilon == 0:
        return Approx(loss.epsilon * members, meaningful(loss.delta * members))
    # Along the chain each later delta has been multiplied by exp(epsilon) once more.
    step = Interval.of(loss.epsilon)
    growth = (step * members).exp_less_one() / step.exp_less_one()
    delta = growth * loss.delta
    # Compared as a decimal first: exp of a large group would not fit into a fraction.
    return Approx(loss.epsilon * members, meaningful(delta.up() if delta.high < 1 else Fraction(1)))
