"""Kinds of fields: numbers as they were written, quoting that holds."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from ameles.measures.fields import exact_number, identifier, literal, problem

DUCK = cache(duckdb.connect)  # when it is needed: its threads do not survive a fork
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(deadline=None)
@given(TEXTS)
def test_texts_and_names_are_quoted(text: str) -> None:
    row = DUCK().execute(f"SELECT {literal(text)} AS {identifier(text)}").fetchone()
    assert row == (text,)


def test_numbers_are_what_was_written() -> None:
    for given_number in (0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10)):
        assert exact_number(given_number) == Fraction(1, 10)
    for bad in (True, None, "x", float("nan"), [1], "9" * 41):
        with pytest.raises(PydanticCustomError):
            exact_number(bad)


def test_a_problem_has_its_reason_and_its_tip() -> None:
    error = problem("It is wrong.", why="because", tip="so")
    assert error.context == {"what": "It is wrong.", "why": "because", "tip": "so"}
    assert error.message() == "It is wrong."
