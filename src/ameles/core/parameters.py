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
import numbers
import operator
import re
import reprlib
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar, overload

from ameles.core.exceptions import BadInput

Exact: TypeAlias = int | float | str | Fraction | Decimal

# Numbers that people write have few digits; a longer one is a slip or an attack on
# the exact arithmetic, which would carry every digit for ever.
LARGEST_DIGITS = 40
_LONGEST = 200  # characters or digits, with leading and trailing zeros; more is not parsed
_FRACTION = re.compile(r"[+-]?[0-9]{1,40}/[0-9]{1,40}")

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 60


def shown(number: Fraction) -> str:
    """A number as a person would write it: exact if that is short, otherwise with "about".

    >>> shown(Fraction(1, 10)), shown(Fraction(1, 3)), shown(Fraction(1, 10**6))
    ('0.1', '1/3', '1e-06')
    >>> shown(Fraction(10**400, 3))
    'about 3.33e+399'
    """
    top, bottom = number.numerator, number.denominator
    if bottom == 1 and abs(top) < 10**24:
        return str(top)
    try:
        near = float(number)
    except OverflowError:
        near = math.inf
    if top and not 1e-300 < abs(near) < math.inf:
        # Beyond the floats, and perhaps beyond the digits that Python agrees to print.
        size = math.log10(abs(top)) - math.log10(bottom)
        sign = "-" if top < 0 else ""
        return f"about {sign}{10 ** (size % 1):.3g}e{math.floor(size):+03d}"
    short = f"{near:.12g}"
    if Fraction(short) == number:
        return short
    if max(abs(top), bottom) < 10**24 and len(f"{top}/{bottom}") <= 24:
        return f"{top}/{bottom}"
    return f"about {near:.6g}"


def refuse(name: str, must: str, got: object, *, why: str = "") -> BadInput:
    """The error for a parameter that is out of its range, as a finished sentence."""
    return BadInput(f"The '{name}' parameter must be {must}. Got {_echo(got)} instead.", why=why)


def _echo(got: object) -> str:
    """What was given, on one short line, whatever it was."""
    match got:
        case bool():
            return str(got)
        case int() | Fraction():
            return shown(Fraction(got))
        case float():
            return repr(float(got))
    return " ".join(_brief.repr(got).split())


def exact(value: Exact, name: str, *, span: str = "") -> Fraction:
    """The rational number that a person meant by ``value``; ``span`` tells them the range."""
    try:
        number = _rational(value)
    except OverflowError:
        raise refuse(name, f"a number{span} of at most {LARGEST_DIGITS} digits", value) from None
    if number is None:
        raise refuse(name, f"a number{span}, such as 0.1, '1/3' or Fraction(1, 3)", value)
    return number


def _rational(value: object) -> Fraction | None:
    """The number, None where it is not one, OverflowError where it has too many digits."""
    number: Fraction | None = None
    match value:
        case bool():
            return None
        case int() | Fraction():
            number = Fraction(value)
        case float():
            number = Fraction(repr(float(value))) if math.isfinite(value) else None
        case str():
            number = _parsed(value)
        case Decimal():
            number = _written_out(value)
        case SupportsIndex():  # numpy's integers
            try:
                number = Fraction(operator.index(value))
            except TypeError:  # its arrays have the method too
                return None
        case numbers.Real():  # numpy's other floats, at their own shortest decimal form
            number = _parsed(str(value))
    limit = 10**LARGEST_DIGITS
    if number is not None and (abs(number.numerator) >= limit or number.denominator >= limit):
        raise OverflowError
    return number


def _parsed(text: str) -> Fraction | None:
    if len(text) > _LONGEST:
        raise OverflowError
    if _FRACTION.fullmatch(text.strip()):
        top, bottom = text.strip().split("/")
        return Fraction(int(top), int(bottom)) if int(bottom) else None
    try:
        decimal = Decimal(text)
    except ArithmeticError:
        return None
    return _written_out(decimal)


def _written_out(decimal: Decimal) -> Fraction | None:
    if not decimal.is_finite():
        return None
    # Decimal keeps 1e999999999 as three numbers; Fraction would write it out.
    if abs(decimal.adjusted()) > _LONGEST or len(decimal.as_tuple().digits) > _LONGEST:
        raise OverflowError
    return Fraction(decimal)


def whole(value: SupportsIndex, name: str, *, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``; booleans and floats are not integers here."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise refuse(name, f"a whole number from {low} to {high}", value)
    return number


Given = TypeVar("Given")
Held = TypeVar("Held")
REQUIRED = object()


class Parameter(ABC, Generic[Given, Held]):
    """A dataclass field that checks what it is given and holds what it means.

    In a subclass of a frozen dataclass, mypy gives an inherited field the type that is accepted
    (python/mypy issue 17601).  So whole numbers are given as ``int``, though numpy's are
    accepted too, and a ``Number`` is declared in the class that computes with it.
    """

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
            try:
                return instance.__dict__[self.name]
            except KeyError:  # the constructor has not come this far
                raise AttributeError(self.name) from None
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
        self.span = f"from {shown(self.low)} to {shown(self.high)}"

    def check(self, value: Exact) -> Fraction:
        number = exact(value, self.name, span=f" {self.span}")
        if not self.low <= number <= self.high:
            raise refuse(self.name, self.span, value)
        return number


class Whole(Parameter[int, int]):
    """An integer in a closed range."""

    def __init__(self, low: int, high: int, default: object = REQUIRED) -> None:
        super().__init__(default)
        self.low = low
        self.high = high

    def check(self, value: int) -> int:
        return whole(value, self.name, low=self.low, high=self.high)


class OptionalWhole(Parameter[int | None, int | None]):
    """An integer in a closed range, or None where None has a meaning of its own."""

    def __init__(self, low: int, high: int, default: object = None) -> None:
        super().__init__(default)
        self.low = low
        self.high = high

    def check(self, value: int | None) -> int | None:
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


class Switch(Parameter[bool, bool]):
    """Yes or no."""

    def check(self, value: bool) -> bool:
        if not isinstance(value, bool):
            raise refuse(self.name, "True or False", value)
        return value


class Law(Whole):
    """Which law the noise has: the newest or, for a stream that was launched before it, its own."""

    def __init__(self, newest: int) -> None:
        super().__init__(1, newest, newest)
