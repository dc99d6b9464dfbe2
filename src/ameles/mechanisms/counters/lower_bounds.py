"""What no counter can beat: lower bounds on the error, as numbers.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, with repaired constants.
             Thm 4.2 (catalogue 16): if an epsilon-DP counter stays within k/2 of the truth at all
             T steps with probability 1 - beta, then floor(T / k) (1 - beta) exp(-epsilon k) <= 1.
             Thm 4.3 (catalogue 17), for every epsilon: a counter whose state is seized after each
             of n steps sees a step that is 1 with probability lambda as a coin, r = 1 / (1 +
             exp(epsilon)) against r + lambda tanh(epsilon / 2) (Kairouz-Oh-Viswanath 2015).
             So it tells no stream of zeros from n such steps but for the total variation
             delta of the two binomials; being within E of both with probability 1 - beta
             needs delta + P(Bin(n, lambda) <= 2 E) + 2 beta >= 1.
             Thm 5.3 (catalogue 18), for an average over n users who can move it by d, or leave
             it, at each of k steps: m of them make 2^k inputs, any two d m / n apart where they
             first differ, and at most m users away from no input at all.  So at user level they
             are not all told apart with probability 1 - beta once 2^k (1 - beta) > exp(epsilon m)
Neighbours   streams that differ in one step by 1; Thm 5.3: in all events of one user

>>> [packing_bound(horizon=2**power, epsilon=1, beta=1 / 3) for power in (8, 16, 20)]
[1.5, 4.0, 5.5]
>>> [intrusion_bound(intrusions=10**power, epsilon=1, beta=1 / 4) for power in (2, 4, 6)]
[3.0, 49.5, 563.0]
>>> [varying_bound(changes=k, jump=1, users=100, epsilon=1) for k in (73, 10**6)]
[0.245, 0.5]
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ameles.core.parameters import refuse, whole

# The strongest bound is at a lambda of about 1 / sqrt(n); these are the multiples looked at.
MULTIPLES = tuple(2 ** (power / 8) for power in range(-32, 33))


def packing_bound(*, horizon: int, epsilon: Fraction | float, beta: float) -> float:
    """An error that every epsilon-DP counter reaches at some step with probability above beta.

    The largest k/2 for which k still violates the inequality of the theorem.
    """

    def violates(k: int) -> bool:
        return horizon // k * (1 - beta) * math.exp(-float(epsilon) * k) > 1

    low, high = 0, horizon + 1  # the left side falls with k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if violates(middle) else (low, middle)
    return low / 2


def intrusion_bound(*, intrusions: int, epsilon: Fraction | float, beta: float) -> float:
    """An error that every epsilon-DP counter seized after each of this many steps exceeds at the
    last of them, with probability above beta, on some stream: of the order of their root."""
    n = whole(intrusions, "intrusions", low=1, high=2**32)
    if not 0 <= beta < 0.5:
        raise refuse("beta", "a probability from 0 to below 1/2", beta)
    chance = 1 / (1 + math.exp(float(epsilon)))
    best = 0
    for multiple in MULTIPLES:
        rare = multiple / math.sqrt(n)
        if rare < 1:
            distance = binomial_distance(n, chance, chance + rare * math.tanh(float(epsilon) / 2))
            best = max(best, _above(n, rare, 1 - 2 * beta - distance))
    return best / 2


def binomial_distance(n: int, p: float, q: float) -> float:
    """The total variation between the binomial laws of n trials with chances p and q.

    >>> [round(binomial_distance(10**6, 0.5, 0.5 + 1 / (k * 1000)), 3) for k in (2, 4, 10)]
    [0.383, 0.197, 0.08]
    """
    low, high = min(p, q), max(p, q)
    first, last = _window(n, low)[0], _window(n, high)[1]
    return float(np.abs(_binomial(n, p, first, last) - _binomial(n, q, first, last)).sum() / 2)


def varying_bound(
    *,
    changes: int,
    jump: Fraction | float,
    users: int,
    epsilon: Fraction | float,
    beta: float = 0.5,
) -> float:
    """An error that every user-level epsilon-DP algorithm reaches at some step with probability
    above beta, if all users can make its average jump by ``jump``, or not, at each of ``changes``
    steps.

    Up to rounding min(d, d k / t) / 2 with t = epsilon n / ln 2, as in the catalogue.  There a
    jump is cut into pieces, which need additional steps; here fewer users make a smaller jump.
    """
    k = whole(changes, "changes", low=1, high=2**60)
    n = whole(users, "users", low=1, high=2**60)
    if not 0 <= beta < 1:
        raise refuse("beta", "a probability from 0 to below 1", beta)
    few = math.ceil((k * math.log(2) + math.log1p(-beta)) / float(epsilon)) - 1
    return float(jump * Fraction(min(n, max(0, few)), n)) / 2


def _window(n: int, p: float) -> tuple[int, int]:
    """Where all but 1e-30 of a binomial law is."""
    reach = 12 * math.sqrt(n * p * (1 - p)) + 70
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))


def _binomial(n: int, p: float, first: int, last: int) -> NDArray[np.float64]:
    """The probabilities of first, ..., last, normalised to sum to 1."""
    k = np.arange(first, last, dtype=np.float64)
    logs = np.concatenate(([0.0], np.cumsum(np.log((n - k) / (k + 1) * (p / (1 - p))))))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _above(n: int, p: float, room: float) -> int:
    """The largest j with P(Bin(n, p) <= j) below ``room``; 0 if there is none."""
    if room < 1e-9:  # nothing, or below the accuracy of the sums
        return 0
    first, last = _window(n, p)
    reached = np.cumsum(_binomial(n, p, first, last))
    return max(0, first - 1 + int(np.searchsorted(reached, room)))
