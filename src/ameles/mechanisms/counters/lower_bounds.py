"""What no counter can beat: lower bounds on the error, as numbers.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, Thm 4.2, with repaired constants (catalogue 16): if
             an epsilon-DP counter stays within k/2 of the truth at all T steps with probability
             1 - beta, then floor(T / k) (1 - beta) exp(-epsilon k) <= 1
Neighbours   streams that differ in one step by 1

>>> [packing_bound(horizon=2**power, epsilon=1, beta=1 / 3) for power in (8, 16, 20)]
[1.5, 4.0, 5.5]
"""

from __future__ import annotations

import math
from fractions import Fraction


def packing_bound(*, horizon: int, epsilon: Fraction | float, beta: float) -> float:
    """An error that every epsilon-DP counter exceeds at some step with probability beta.

    The largest k/2 for which k still violates the inequality of the theorem.
    """
    k = 0
    while horizon // (k + 1) * (1 - beta) * math.exp(-float(epsilon) * (k + 1)) > 1:
        k += 1
    return k / 2
