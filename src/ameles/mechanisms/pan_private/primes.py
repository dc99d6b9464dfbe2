"""Primes as moduli: few of many can divide a number, so a random one hardly ever does.

>>> primes(10)
(11, 13, 17, 19)
>>> most_divisors(10, 11 * 13 * 17 - 1), most_divisors(10, 11 * 13 * 17)
(2, 3)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=64)
def primes(low: int) -> tuple[int, ...]:
    """The primes from ``low`` to twice as much, by the sieve; there always are some."""
    kept = np.ones(2 * low + 1, dtype=np.bool_)
    kept[:2] = False
    for p in range(2, math.isqrt(2 * low) + 1):
        kept[p * p :: p] = False
    return tuple((np.flatnonzero(kept[low:]) + low).tolist())


def most_divisors(low: int, largest: int) -> int:
    """How many of these primes can divide one number from 1 to ``largest``, at the most.

    So many as the product of the smallest stays within it, which is one such number.
    """
    product, count = 1, 0
    for prime in primes(low):
        product *= prime
        if product > largest:
            break
        count += 1
    return count
