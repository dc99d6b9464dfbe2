"""Questions to a device and its randomised reports: standard library alone, in whole numbers.

It draws as ``ameles.mechanisms.local`` does: the same draws give the same report.  The loss of a
question is computed here, from its own numbers.

>>> asked = Question.read('{"ameles":"question","version":1,"id":"flu","randomizer":'
...     '{"recipe":"UnaryEncoding","version":1,"categories":3,"epsilon":null,"odds":"3",'
...     '"optimised":true}}')
>>> asked.randomized(1, draw=lambda below: 0), float(asked.loss) > 1.0986
('40', True)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from hashlib import sha256
from math import isqrt
from typing import Any

DIGITS = 12
PRECISION = 60
LONGEST = 4096  # characters of a question
_AMOUNT = re.compile(r"[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?")
# The smallest and the largest number of categories, or largest value of a mean.
SIZES = {
    "RandomizedResponse": (2, 1 << 20),
    "UnaryEncoding": (2, 1 << 16),
    "HadamardResponse": (2, (1 << 20) - 1),
    "MeanResponse": (1, 1 << 20),
}
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class Unfit(ValueError):
    """A question that cannot be understood or asks for too much, or an amount that is not one."""


def amount(text: object) -> Fraction:
    """An amount as it is written in questions and budgets: '1', '0.5' or '1/3'."""
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text) or text.endswith("/0"):
        raise Unfit
    top, _, bottom = text.partition("/")
    if bottom and not int(bottom):
        raise Unfit
    return Fraction(top) / Fraction(bottom or 1)


@dataclass(frozen=True)
class Question:
    """What is asked of a device: a name, and the randomizer that the answer goes through."""

    id: str
    kind: str
    size: int  # how many categories, or the largest value
    odds: Fraction  # of the table
    loss: Fraction
    optimised: bool
    fingerprint: str

    @classmethod
    def read(cls, text: object) -> Question:
        """The question, or ``Unfit``, whatever it was given."""
        if not isinstance(text, str) or len(text) > LONGEST:
            raise Unfit
        try:
            document = json.loads(text)
            if document["ameles"] != "question" or not _first(document["version"]):
                raise Unfit
            name, asked = document["id"], document["randomizer"]
            if not isinstance(name, str) or not _ID.fullmatch(name):
                raise Unfit
            return cls._of(name, asked)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise Unfit from None

    @classmethod
    def _of(cls, name: str, asked: dict[str, Any]) -> Question:
        kind, optimised = asked["recipe"], asked.get("optimised", True)
        least, most = SIZES[kind]
        name_of_size = "largest" if kind == "MeanResponse" else "categories"
        size = asked[name_of_size]
        known = {"recipe", "version", name_of_size, "epsilon", "odds"}
        if kind == "UnaryEncoding":
            known.add("optimised")
        if type(size) is not int or not least <= size <= most or type(optimised) is not bool:
            raise Unfit
        if not _first(asked["version"]) or asked.keys() - known:
            raise Unfit
        if (asked["epsilon"] is None) == (asked["odds"] is None):
            raise Unfit
        if asked["odds"] is None:
            loss = amount(asked["epsilon"])
            if not Fraction(1, 10**4) <= loss <= 20:
                raise Unfit
            odds = _rounded(_exact(loss).exp(_context()), ROUND_FLOOR)
        else:
            odds = amount(asked["odds"])
            if not Fraction(10001, 10000) <= odds <= 10**8 or odds.numerator > 10**DIGITS:
                raise Unfit
            loss = _rounded(_exact(odds).ln(_context()), ROUND_CEILING)
        written = json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()
        return cls(name, kind, size, odds, loss, optimised, sha256(written).hexdigest())

    def randomized(self, value: int | None, draw: Callable[[int], int]) -> int | str:
        """The report on a value; bits are written as hexadecimal digits."""
        a, b = self.odds.numerator, self.odds.denominator
        if self.kind == "MeanResponse":
            return _mean(max(0, min(value or 0, self.size)), self.size, a, b, draw)
        listed = value if value is not None and 0 <= value < self.size else -1
        if self.kind == "RandomizedResponse":
            return _response(listed, self.size, a, b, draw)
        if self.kind == "HadamardResponse":
            return _hadamard(listed, 1 << self.size.bit_length(), a, b, draw)
        kept, zeros, every = a + b, 2 * a, 2 * (a + b)
        if not self.optimised:
            root = _root(self.odds)
            kept, zeros, every = root.numerator, root.numerator, root.numerator + root.denominator
        packed = bytearray(-(-self.size // 8))
        for place in range(self.size):
            drawn = draw(every)
            if drawn < kept if place == listed else drawn >= zeros:
                packed[place // 8] |= 128 >> place % 8
        return packed.hex()


def _response(value: int, categories: int, a: int, b: int, draw: Callable[[int], int]) -> int:
    drawn = draw(a + b * (categories - 1))
    if value < 0:
        return drawn % categories
    if drawn < a:
        return value
    place = (drawn - a) // b
    return place + (place >= value)


def _mean(value: int, largest: int, a: int, b: int, draw: Callable[[int], int]) -> int:
    place, response = divmod(draw(largest * (a + b)), a + b)
    return int((place < value) == (response < a))


def _hadamard(value: int, size: int, a: int, b: int, draw: Callable[[int], int]) -> int:
    drawn = draw(size * (a + b))
    if value < 0:
        return drawn % size
    row = value + 1
    lowest = row & -row
    place = drawn % (size // 2)
    column = (place & -lowest) << 1 | place & (lowest - 1)
    odd = (column & row).bit_count() % 2 == 1
    agree = drawn // (size // 2) < 2 * a
    return column | (lowest if odd == agree else 0)


def _first(version: object) -> bool:
    return type(version) is int and version == 1  # True equals 1


def _context() -> Context:
    return Context(prec=PRECISION)


def _exact(number: Fraction) -> Decimal:
    return _context().divide(Decimal(number.numerator), Decimal(number.denominator))


def _rounded(number: Decimal, rounding: str) -> Fraction:
    """Losses get 15 digits, odds 12; a last digit of 60 could not matter."""
    digits = DIGITS if rounding == ROUND_FLOOR else 15
    return Fraction(Context(prec=digits, rounding=rounding).plus(number))


def _root(odds: Fraction) -> Fraction:
    exact = Fraction(isqrt(odds.numerator), isqrt(odds.denominator))
    if exact**2 == odds:
        return exact
    return _rounded(_exact(odds).sqrt(_context()), ROUND_FLOOR)
