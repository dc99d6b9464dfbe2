"""Primes and how many of them can divide a number, against trial division."""

from __future__ import annotations

import math

import pytest

from ameles.mechanisms.pan_private.primes import most_divisors, primes


@pytest.mark.parametrize("low", [1, 2, 3, 4, 10, 100, 127, 1000, 32768])
def test_primes_are_those_of_trial_division(low: int) -> None:
    def prime(n: int) -> bool:
        return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))

    assert primes(low) == tuple(n for n in range(low, 2 * low + 1) if prime(n))
    assert primes(low)  # Bertrand's postulate


@pytest.mark.parametrize("low", [2, 3, 5, 10])
@pytest.mark.parametrize("largest", [1, 5, 30, 142, 143, 5000])
def test_the_most_divisors_are_those_of_the_worst_number(low: int, largest: int) -> None:
    most = max(sum(n % p == 0 for p in primes(low)) for n in range(1, largest + 1))
    assert most_divisors(low, largest) == most
    assert most <= math.log(largest, low) + 1e-9  # the catalogue's bound
