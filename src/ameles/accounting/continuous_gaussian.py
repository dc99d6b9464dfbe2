"""The continuous Gaussian mechanism: for reference and comparison, *not* for calibration.

Theorem      delta = Phi(s/(2 sigma) - epsilon sigma/s) - exp(epsilon) Phi(-s/(2 sigma)
             - epsilon sigma/s), exactly, for every epsilon (Balle-Wang 2018, Thm 8);
             classical: sigma = s sqrt(2 ln(1.25/delta)) / epsilon, proved for epsilon < 1
             and false from epsilon about 8.42 at delta 1e-5 (catalogue 38)
Not for      discrete noise: its delta at the same sigma is larger, by 2% at (1, 1e-6) and by
             a factor of 3 at (8, 1e-6).  Ameles adds discrete noise and takes its variance
             from ``gaussian_variance_for`` or ``discrete_gaussian_variance``
Rounding     floats, to nearest: no privacy claim may rest on these numbers

>>> round(analytic_gaussian_sigma(epsilon=1, delta=1e-6), 4)
4.2247
>>> round(classical_gaussian_sigma(epsilon=1, delta=1e-6), 3)
5.299
"""

from __future__ import annotations

import math

from ameles.accounting.arguments import amount, positive, probability
from ameles.accounting.search import root
from ameles.core.parameters import Exact

ASYMPTOTIC = 20.0  # from here on, exp(x²) erfc(x) by its asymptotic series, to 1e-13


def analytic_gaussian_delta(*, epsilon: Exact, sigma: Exact, sensitivity: Exact = 1) -> float:
    """The exact delta of continuous Gaussian noise, as a float; not for discrete noise.

    >>> round(analytic_gaussian_delta(epsilon=1, sigma=4) * 1e6, 2)
    2.92
    """
    loss = float(amount(epsilon, "epsilon"))
    width = float(positive(sigma, "sigma") / positive(sensitivity, "sensitivity"))
    return _delta(loss, width)


def analytic_gaussian_sigma(*, epsilon: Exact, delta: Exact, sensitivity: Exact = 1) -> float:
    """The sigma of continuous Gaussian noise for (epsilon, delta); not for discrete noise."""
    loss, target = float(positive(epsilon, "epsilon")), float(probability(delta, "delta"))
    width = root(lambda sigma: target - _delta(loss, sigma), low=1e-60, high=1e110)
    return width * float(positive(sensitivity, "sensitivity"))


def classical_gaussian_sigma(*, epsilon: Exact, delta: Exact, sensitivity: Exact = 1) -> float:
    """The textbook's sigma for (epsilon, delta); not private for large epsilon."""
    loss, target = positive(epsilon, "epsilon"), probability(delta, "delta")
    scale = math.sqrt(2 * math.log(1.25 / float(target)))
    return scale * float(positive(sensitivity, "sensitivity") / loss)


def _delta(epsilon: float, sigma: float) -> float:
    near, far = epsilon * sigma - 1 / (2 * sigma), epsilon * sigma + 1 / (2 * sigma)
    # exp(epsilon) Phi(-far) is exp(-near²/2) times a scaled tail, which cannot overflow.
    shared = math.exp(-near * near / 2) / 2
    if near < 0:
        return math.erfc(near / math.sqrt(2)) / 2 - shared * _scaled_tail(far / math.sqrt(2))
    gap = _scaled_tail(near / math.sqrt(2)) - _scaled_tail(far / math.sqrt(2))
    return shared * gap


def _scaled_tail(x: float) -> float:
    """exp(x²) erfc(x) for x >= 0."""
    if x < ASYMPTOTIC:
        return math.exp(x * x) * math.erfc(x)
    inverse = 1 / (2 * x * x)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    return series / (x * math.sqrt(math.pi))
