"""Parameters of recipes: checked once, at construction, and kept as exact numbers.

A field of a frozen dataclass is declared as one of the classes below.  It accepts what
a person writes (``epsilon=0.1``) and holds what arithmetic needs (``Fraction(1, 10)``).
A float is taken at its shortest decimal form, since that is what was typed.

>>> exact(0.1, "epsilon")
Fraction(1, 10)
>>> exact("1/3", "epsilon")
Fraction(1, 3)
"""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar, overload

from ameles.core.exceptions import BadInput

Exact: TypeAlias = int | float | str | Fraction | Decimal

# Numbers that people write have few digits; a longer one is a slip or an attack on
# the exact arithmetic, which would carry every digit for ever.
LARGEST_DIGITS = 40
_FRACTION = re.compile(r"[+-]?\d{1,40}/\d{1,40}")


def refuse(name: str, must: str, got: object, *, why: str = "") -> BadInput:
    """The error for a parameter that is out of its range, as a finished sentence."""
    shown = got if isinstance(got, int | float | Fraction | Decimal) else repr(got)
    return BadInput(
        f"The '{name}' parameter must be {must}. Got {str(shown)[:60]} instead.", why=why
    )


def exact(value: Exact, name: str) -> Fraction:
    """The rational number that a person meant by ``value``."""
    number = _rational(value)
    if number is None:
        raise refuse(name, "a finite number such as 0.1, '1/3' or Fraction(1, 3)", value)
    limit = 10**LARGEST_DIGITS
    if abs(number.numerator) >= limit or number.denominator >= limit:
        raise refuse(name, f"a number of at most {LARGEST_DIGITS} digits", value)
    return number


def _rational(value: object) -> Fraction | None:
    match value:
        case bool():
            return None
        case int() | Fraction():
            return Fraction(value)
        case float():
            return Fraction(repr(float(value))) if math.isfinite(value) else None
        case str() if _FRACTION.fullmatch(value.strip()):
            top, bottom = value.strip().split("/")
            return Fraction(int(top), int(bottom)) if int(bottom) else None
        case str() | Decimal():
            try:
                decimal = Decimal(value)
            except ArithmeticError:
                return None
            # Decimal keeps 1e999999999 as three numbers; Fraction would write it out.
            if not decimal.is_finite() or abs(decimal.adjusted()) > 2 * LARGEST_DIGITS:
                return None
            return Fraction(decimal)
        case SupportsIndex():  # numpy's integers
            return Fraction(operator.index(value))
    return None


def whole(value: SupportsIndex, name: str, *, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``; booleans and floats are not integers here."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise refuse(name, f"a whole number from {low} to {high}", value)
    number = operator.index(value)
    if not low <= number <= high:
        raise refuse(name, f"a whole number from {low} to {high}", value)
    return number


Given = TypeVar("Given")
Held = TypeVar("Held")
REQUIRED = object()


class Parameter(ABC, Generic[Given, Held]):
    """A dataclass field that checks what it is given and holds what it means."""

    def __init__(self, default: object = REQUIRED) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Held: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is not None:
            return instance.__dict__[self.name]
        # dataclasses asks the class for a field's default; an AttributeError means: none
        if self.default is REQUIRED:
            raise AttributeError(self.name)
        return self.default

    def __set__(self, instance: object, value: Given) -> None:
        instance.__dict__[self.name] = self.check(value)

    @abstractmethod
    def check(self, value: Given) -> Held:
        """The value to hold, or an error that finishes the sentence."""


class Number(Parameter[Exact, Fraction]):
    """A rational number in a closed range."""

    def __init__(self, low: Exact, high: Exact, default: object = REQUIRED) -> None:
        super().__init__(default)
        self.low = exact(low, "low")
        self.high = exact(high, "high")

    def check(self, value: Exact) -> Fraction:
        number = exact(value, self.name)
        if not self.low <= number <= self.high:
            raise refuse(self.name, f"from {float(self.low):g} to {float(self.high):g}", value)
        return number


class Whole(Parameter[SupportsIndex, int]):
    """An integer in a closed range."""

    def __init__(self, low: int, high: int, default: object = REQUIRED) -> None:
        super().__init__(default)
        self.low = low
        self.high = high

    def check(self, value: SupportsIndex) -> int:
        return whole(value, self.name, low=self.low, high=self.high)


class OptionalWhole(Parameter[SupportsIndex | None, int | None]):
    """An integer in a closed range, or None where None has a meaning of its own."""

    def __init__(self, low: int, high: int, default: object = None) -> None:
        super().__init__(default)
        self.low = low
        self.high = high

    def check(self, value: SupportsIndex | None) -> int | None:
        return None if value is None else whole(value, self.name, low=self.low, high=self.high)


class Epsilon(Number):
    """A privacy loss.  Above 1000 nothing is protected; below 1e-9 nothing is learned."""

    def __init__(self, default: object = REQUIRED) -> None:
        super().__init__(Fraction(1, 10**9), 1000, default)


class Horizon(Whole):
    """The number of steps that a stream may have, fixed before the first."""

    def __init__(self) -> None:
        super().__init__(1, 2**40)


class OptionalHorizon(OptionalWhole):
    """A horizon, or None for a stream without an end."""

    def __init__(self) -> None:
        super().__init__(1, 2**40)


class Width(OptionalWhole):
    """How many counters advance together as one array; None for one plain counter."""

    def __init__(self) -> None:
        super().__init__(1, 2**31)


class Contributions(Whole):
    """How many steps one unit may change."""

    def __init__(self) -> None:
        super().__init__(1, 2**40, 1)


class Bound(Whole):
    """How much one unit may change a step, in the L1 norm of the whole vector."""

    def __init__(self) -> None:
        super().__init__(1, 2**40, 1)
