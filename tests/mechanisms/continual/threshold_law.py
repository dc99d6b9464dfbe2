"""The exact law of comparisons with noise: summed over the noise of the threshold.

Everything is in logarithms, because thousand answers "below" have tiny probabilities.  The sum
leaves out less than exp(-200) of the threshold's law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def log_mass(k: Floats, scale: float) -> Floats:
    """ln P(Z = k) of a discrete Laplace variable."""
    return np.asarray(math.log(math.tanh(1 / (2 * scale))) - np.abs(k) / scale)


def log_at_least(k: Floats, scale: float) -> Floats:
    """ln P(Z >= k)."""
    q = math.exp(-1 / scale)
    far = np.where(k > 0, k, 1.0)
    upper = -far / scale - math.log1p(q)
    near = np.log1p(-np.exp((np.minimum(k, 0) - 1) / scale) / (1 + q))
    return np.asarray(np.where(k > 0, upper, near))


def log_below(k: Floats, scale: float) -> Floats:
    """ln P(Z < k) = ln P(Z >= 1 - k), by symmetry."""
    return log_at_least(1 - k, scale)


def rho_values(scale: float) -> Floats:
    reach = math.ceil(200 * scale)
    return np.arange(-reach, reach + 1, dtype=np.float64)


def log_sum(terms: Floats) -> float:
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


@cache
def log_below_then_above(
    below: int, m: int, above: int, threshold_scale: Fraction, query_scale: Fraction
) -> float:
    """ln P(m times below, then above) for queries at ``below`` and a last one at ``above``."""
    rho = rho_values(float(threshold_scale))
    terms = log_mass(rho, float(threshold_scale)) + log_at_least(rho - above, float(query_scale))
    if m:
        terms = terms + m * log_below(rho - below, float(query_scale))
    return log_sum(terms)


def worst_loss(
    m: int, threshold_scale: Fraction, query_scale: Fraction, places: Sequence[int]
) -> float:
    """The largest log-ratio over queries at these places that neighbours move by up to 1."""
    law = {
        (below, above): log_below_then_above(below, m, above, threshold_scale, query_scale)
        for below in places
        for above in places
    }
    return max(
        law[below, above] - law[below + moved, above + also]
        for below, above in law
        for moved, also in product((-1, 0, 1), repeat=2)
        if (below + moved, above + also) in law
    )
