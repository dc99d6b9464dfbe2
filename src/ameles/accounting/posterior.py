"""What an attacker can believe after everything was published, from what was believed before.

Theorem      pure: the odds that a unit is in the data grow by a factor of at most exp(epsilon),
             whatever is published; so a prior p becomes at most
             p exp(epsilon) / (1 - p + p exp(epsilon)), by Bayes' rule
             (epsilon, delta): by at most exp(epsilon) / (1 - delta/chance), except with
             probability ``chance``, which must be above delta.  Let S be the outputs at which the
             ratio P/Q is above exp(t): P(S) <= exp(epsilon) Q(S) + delta < exp(epsilon - t) P(S) +
             delta, so P(S) < delta / (1 - exp(epsilon - t)).  Some mechanism comes as close to
             this as one likes
             zCDP: by at most exp(rho + 2 sqrt(rho ln(1/chance))), except with probability
             ``chance`` (Bun-Steinke 2016, in the proof of Prop 1.3); Gaussian noise is a little
             better, and no statement holds without an exception
Rounding     the growth of the odds and the posterior are rounded up

The attacker may know everything else, also all other units, and may compute without limit.

>>> (most,) = posteriors([Fraction(1, 2)], gained=odds_gained(Pure(1)))
>>> round(float(most), 4)
0.7311
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ameles.accounting.interval import Interval
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.parameters import Exact, exact, refuse


def odds_gained(loss: Loss, *, chance: Exact = 0) -> Fraction | None:
    """The logarithm of the factor by which odds grow at most, except with probability ``chance``.

    None if this loss promises nothing of that kind.

    >>> odds_gained(Approx(1, "1e-6")) is None
    True
    >>> round(float(odds_gained(Approx(1, "1e-6"), chance="1e-3")), 4)
    1.001
    >>> round(float(odds_gained(Concentrated("0.02"), chance="1e-3")), 4)
    0.7634
    """
    allowed = exact(chance, "chance")
    if not 0 <= allowed < 1:
        raise refuse("chance", "zero or more and below 1", chance)
    match loss:
        case Pure(epsilon=epsilon):
            return epsilon
        case Approx(epsilon=epsilon, delta=delta):
            if delta == 0:
                return epsilon
            if allowed <= delta:
                return None
            return (epsilon - Interval.of(1 - delta / allowed).ln()).up()
        case Concentrated(rho=rho):
            if rho == 0:
                return Fraction(0)
            if allowed == 0:
                return None
            return (rho + 2 * (rho * -Interval.of(allowed).ln()).sqrt()).up()


def posteriors(priors: Iterable[Fraction], *, gained: Fraction | None) -> tuple[Fraction, ...]:
    """The most that each prior becomes if odds grow by a factor of at most exp(gained)."""
    shrunk = None if gained is None else Interval.of(-gained).exp()  # cannot overflow
    return tuple(_posterior(prior, shrunk) for prior in priors)


def _posterior(prior: Fraction, shrunk: Interval | None) -> Fraction:
    if not 0 <= prior <= 1:
        raise refuse("prior", "from 0 to 1", prior)
    if prior in (0, 1):
        return prior
    if shrunk is None:
        return Fraction(1)
    return min(Fraction(1), (prior / (prior + (1 - prior) * shrunk)).up())
