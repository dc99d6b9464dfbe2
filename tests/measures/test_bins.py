"""Bins: half open, the last one closed, NaN and nothing nowhere; edges that cannot be."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ameles.measures.bins import MOST_BINS, Bins, Edges

EDGES: TypeAdapter[tuple[Fraction, ...]] = TypeAdapter(Edges)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def bins_of(bins: Bins, values: list[float | None]) -> list[int | None]:
    with duckdb.cursor() as duck:
        duck.execute("CREATE TEMP TABLE e (x DOUBLE)")
        duck.executemany("INSERT INTO e VALUES (?)", [[value] for value in values])
        return [code for (code,) in duck.execute(f"SELECT {bins.code} FROM e").fetchall()]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=9, unique=True),
    st.lists(NUMBERS | st.integers(-60, 60).map(float), min_size=1, max_size=20),
    st.booleans(),
)
def test_the_code_is_the_bin(cuts: list[int], values: list[float], clamped: bool) -> None:
    edges = sorted(cuts)
    bins = Bins("x", tuple(map(Fraction, edges)), clamped)
    codes = bins_of(bins, [*values, *map(float, edges), None])
    assert codes[-1] is None
    for value, code in zip([*values, *map(float, edges)], codes, strict=False):
        inside = not math.isnan(value) and edges[0] <= value <= edges[-1]
        if math.isnan(value) or not (inside or clamped):
            assert code is None
            continue
        place = int(np.searchsorted(edges, value, side="right")) - 1
        assert code == min(max(place, 0), bins.size - 1)


def test_as_many_bins_as_there_may_be() -> None:
    bins = Bins("x", tuple(map(Fraction, range(MOST_BINS + 1))))
    assert bins_of(bins, [0.0, 511.5, 1024.0, 1024.5]) == [0, 511, 1023, None]
    assert bins.labels[-1] == "[1023,1024]"
    assert len(set(bins.labels)) == bins.size == MOST_BINS


def test_labels_of_fractions_have_no_slash() -> None:
    edges = EDGES.validate_python(["-1/3", 0, 0.1, 1e20])
    assert Bins("x", edges).labels == ("[-0.333333333333,0)", "[0,0.1)", "[0.1,1e+20]")


@pytest.mark.parametrize(
    ("given_edges", "what"),
    [
        ([1], "2 to 1025 numbers"),
        ("0, 1", "2 to 1025 numbers"),
        ([0, 1, 1], "above the one before"),
        ([2, 1], "above the one before"),
        ([0, True], "must be a number"),
        ([0, float("nan")], "must be a number"),
        ([0, "inf"], "must be a number"),
        ([1, "1.00000000000000000000001"], "above the one before"),
        ([1, "1.0000000000001"], "labels are the same"),
        (list(range(1026)), "2 to 1025 numbers"),
    ],
)
def test_edges_that_cannot_be(given_edges: Any, what: str) -> None:
    with pytest.raises(ValidationError, match=what) as caught:
        EDGES.validate_python(given_edges)
    assert str(caught.value.errors()[0]["msg"]).endswith(".")
