"""What the functions of accounting accept: numbers that mean a loss, and nothing else.

A total over years may have more digits than a person would type, so a ``Fraction`` is
taken as it is; everything else goes through ``exact``, which reads 0.1 as one tenth.

>>> positive(0.1, "epsilon")
Fraction(1, 10)
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from ameles.core.parameters import Exact, exact, refuse, whole

# The searches inside run on floats; within these limits nothing over- or underflows.
LARGEST = Fraction(10**100)
SMALLEST = 1 / LARGEST


def amount(value: Exact, name: str) -> Fraction:
    """Zero or more."""
    number = value if isinstance(value, Fraction) else exact(value, name)
    if number != 0 and not SMALLEST <= number <= LARGEST:
        raise refuse(name, "zero, or from 1e-100 to 1e100", value)
    return number


def positive(value: Exact, name: str) -> Fraction:
    """More than zero."""
    number = amount(value, name)
    if number == 0:
        raise refuse(name, "above zero", value)
    return number


def probability(value: Exact, name: str, *, why: str = "") -> Fraction:
    """Strictly between zero and one."""
    number = value if isinstance(value, Fraction) else exact(value, name)
    if not SMALLEST <= number < 1:
        raise refuse(name, "above zero (from 1e-100) and below 1", value, why=why)
    return number


def repetitions(value: SupportsIndex, name: str) -> int:
    """How many: at least one."""
    return whole(value, name, low=1, high=10**9)
