"""Kinds of fields in a plan: exact numbers, names, columns; and problems as finished sentences."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

from ameles.core.address import check_public
from ameles.core.exceptions import BadInput, PlanError
from ameles.core.parameters import exact

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def problem(what: str, *, why: str = "", tip: str = "") -> PydanticCustomError:
    """The error that a validator raises; the plan reports it with its key."""
    return PydanticCustomError("ameles", "{what}", {"what": what, "why": why, "tip": tip})


def exact_number(value: Any) -> Fraction:
    """The number that a plan means, or a problem."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal):
        raise problem("It must be a number.", tip="0.5, or '1/3' in quotes")
    try:
        return exact(value, "value")
    except BadInput as refusal:
        raise problem(
            "It must be a number, of at most 40 digits.", tip="0.5, or '1/3' in quotes"
        ) from refusal


def _name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise problem(
            "A name has up to 64 letters, digits, dots, dashes and underscores, and begins with "
            "a letter or digit.",
            tip="weekly-fever",
        )
    return value


def _column(value: str) -> str:
    if not value or len(value) > 255 or "\0" in value or "\n" in value:
        raise problem(
            "It must be the name of a column, of up to 255 characters in one line.",
            tip="a name as in the first line of the source",
        )
    return value


def public(place: str) -> str:
    """A path or an address, unless it may have a secret in it."""
    try:
        check_public(place)
    except PlanError as refusal:
        raise problem(refusal.what, why=refusal.why, tip=refusal.tip) from None
    return place


ExactNumber = Annotated[Fraction, BeforeValidator(exact_number)]
Name = Annotated[str, AfterValidator(_name)]
Column = Annotated[str, AfterValidator(_column)]
Place = Annotated[str, AfterValidator(public)]


class Section(BaseModel):
    """A table of a plan: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def identifier(column: str) -> str:
    """A column's name in SQL, quoted; a quote in it is doubled.

    >>> identifier('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + column.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
