"""Values between declared bounds: no value passes them, and they must be given."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.measures import bounded
from ameles.measures.bins import real_literal
from tests.measures.asked import (
    CENTS,
    asked,
    measure,
    problems,
    terms,
    user_terms,
)

DUCK = cache(duckdb.connect)  # when it is needed: its threads do not survive a fork


def test_where_there_is_no_value_nothing_counts() -> None:
    release = measure("sum", column="spent", lower=5, upper=6, granularity=1)
    missing = [(1, "north", True, 1, None), (2, "north", True, 1, float("nan"))]
    assert asked(release, missing).sum() == 0
    assert asked(release, [(1, "north", True, 1, -9.0)]).sum() == 5


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(), min_size=1, max_size=30),
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
    st.sampled_from(["1", "0.1", "1/3", "1e-6", "1000", "0.7"]),
)
def test_no_value_passes_the_bound(
    values: list[float], lower: int, width: int, granularity: str
) -> None:
    step = Fraction(granularity)
    low, high = lower * step, (lower + width) * step
    release = measure("sum", column="spent", lower=low, upper=high, granularity=granularity)
    assert release.reach == max(abs(lower), abs(lower + width))
    given_values = [*values, float(low), float(high), None]
    DUCK().execute("CREATE OR REPLACE TABLE events (spent DOUBLE)")
    DUCK().executemany("INSERT INTO events VALUES (?)", [[value] for value in given_values])
    (units,), cell = release.question.amounts, release.question.cell
    rows = DUCK().execute(f"SELECT spent, {units}, {cell} FROM events").fetchall()
    for value, unit, place in rows:
        assert lower <= unit <= lower + width
        assert (place is None) == (value is None or math.isnan(value))
        if value is not None and low <= value <= high:
            assert abs(unit - value / float(step)) <= 0.5 + 1e-6


def test_the_bound_holds_whatever_floating_point_arithmetic_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = measure("sum", **CENTS)
    granularity = Fraction(1, 10)

    def literal(value: Fraction) -> str:
        # A division that gives a thousand times too much, as no machine should.
        return real_literal(value / 1000 if value == granularity else value)

    monkeypatch.setattr(bounded, "real_literal", literal)
    DUCK().execute("CREATE OR REPLACE TABLE events (spent DOUBLE)")
    DUCK().execute("INSERT INTO events VALUES (-2), (-0.5), (0), (7.3), (10), (1e300), ('-inf')")
    rows = DUCK().execute(f"SELECT {release.units} FROM events").fetchall()
    assert {units for (units,) in rows} == {-20, 0, 100}


@pytest.mark.parametrize("missing", ["lower", "upper", "granularity"])
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_bounds_must_be_given(kind: str, missing: str) -> None:
    fields: dict[str, Any] = {**CENTS}
    del fields[missing]
    assert problems(kind, **fields) == [f"It has no {missing}."]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"lower": 10}, "must be below the upper one"),
        ({"granularity": 5}, "multiples of its granularity"),
        ({"granularity": 0}, "must be from"),
        ({"granularity": "1e-7"}, "at most 2**22 units"),
        ({"upper": "inf"}, "must be a number"),
        ({"lower": True}, "must be a number"),
    ],
)
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_bad_fields_finish_the_sentence(kind: str, fields: dict[str, Any], what: str) -> None:
    sentences = problems(kind, **{**CENTS, **fields})
    assert len(sentences) == 1
    assert what in sentences[0]
    assert sentences[0].endswith(".")


def test_a_grid_too_fine_for_64_bits_is_refused_in_the_plan() -> None:
    release = measure("sum", column="spent", lower=0, upper=4_000_000, granularity=1)
    assert not list(release.refusals(terms(), weighted=False))
    (refusal,) = release.refusals(user_terms(), weighted=False)
    assert refusal.key == "granularity"
    assert "8000000 grid units" in refusal.what


def test_values_must_be_numbers() -> None:
    release = measure("sum", **CENTS)
    assert not list(release.column_refusals({"spent": "number"}))
    (refusal,) = release.column_refusals({"spent": "text"})
    assert refusal.what == (
        "The column 'spent' is declared as text and must be integer or number here."
    )
