"""Sums over the digits of 1, 2, ..., T, and the arity that makes a tree's error smallest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

# Larger arities than this are worse for every horizon that fits into 40 bits.
MOST = 64
# The odd ones that the chooser tries for an objective other than the mean.
TRIED = (3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 29, 33, 41)


def digits_of(t: int, k: int) -> list[int]:
    """The base-k digits of t, the lowest first; of 0, a single 0."""
    digits = [t % k]
    while t := t // k:
        digits.append(t % k)
    return digits


def digit_total(
    last: int, k: int, level: int, cost: Callable[[int], int], *, first: int = 1
) -> int:
    """The sum of ``cost(digit)`` over the level's digits of first, ..., last, exactly.

    >>> digit_total(11, 10, 0, lambda digit: digit)  # 1 + 2 + ... + 9 + 0 + 1
    46
    """
    return _up_to(last + 1, k, level, cost) - _up_to(first, k, level, cost)


def _up_to(end: int, k: int, level: int, cost: Callable[[int], int]) -> int:
    """The sum over 0, ..., end - 1."""
    size: int = k**level
    cycles, rest = divmod(end, size * k)
    total = cycles * size * sum(cost(digit) for digit in range(k))
    whole, part = divmod(rest, size)
    total += size * sum(cost(digit) for digit in range(whole))
    return total + part * cost(whole) if part else total


@lru_cache(maxsize=1024)
def best_arity(horizon: int, cost: Callable[[int, int], float], *, odd: bool = False) -> int:
    """The arity with the smallest cost(horizon, arity), the smallest of them on a tie."""
    candidates = range(3, MOST, 2) if odd else range(2, MOST)
    return min(candidates, key=lambda k: cost(horizon, k))
