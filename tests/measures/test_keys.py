"""Declared keys: every event in one cell or none, whatever the texts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.measures.bins import Bins
from ameles.measures.count import Count
from ameles.measures.keys import Keys

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def cells_of(keys: Keys, rows: list[tuple[Any, ...]]) -> list[int | None]:
    with duckdb.cursor() as duck:
        duck.execute('CREATE TEMP TABLE e ("a ""b""" VARCHAR, c BIGINT)')
        duck.executemany("INSERT INTO e VALUES (?, ?)", [list(row) for row in rows])
        return [cell for (cell,) in duck.execute(f"SELECT {keys.cell} FROM e").fetchall()]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(TEXTS, min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True),
    st.booleans(),
    st.lists(st.tuples(st.none() | TEXTS, st.none() | st.integers(-12, 12)), min_size=1),
)
def test_the_cell_is_the_place_of_the_name(
    texts: list[str], numbers: list[int], other: bool, rows: list[tuple[str | None, int | None]]
) -> None:
    keys = Keys({'a "b"': tuple(texts), "c": tuple(map(str, numbers))}, other)
    assert keys.size == len(keys.names) == (len(texts) + other) * (len(numbers) + other)
    rows += [(text, number) for text in texts for number in numbers]
    for row, cell in zip(rows, cells_of(keys, rows), strict=True):
        places = [place_of(x, d, other) for x, d in zip(row, keys.columns.values(), strict=True)]
        if None in places:
            assert cell is None
        else:
            assert cell == (places[0] or 0) * len(keys.values[1]) + (places[1] or 0)


def place_of(value: object, declared: tuple[str, ...], other: bool) -> int | None:
    if value is not None and str(value) in declared:
        return declared.index(str(value))
    return len(declared) if other else None


def test_nothing_declared_is_one_cell() -> None:
    assert (Keys({}, False).names, Keys({}, False).cell) == (("",), "0")


def test_bins_are_the_last_column() -> None:
    bins = Bins("c", (Fraction(0), Fraction(5), Fraction(9)))
    keys = Keys({'a "b"': ("x", "y")}, True, bins)
    assert keys.names[:4] == ("x/[0,5)", "x/[5,9]", "x/other", "y/[0,5)")
    assert cells_of(keys, [("x", 5), ("y", 10), ("z", 0), (None, None)]) == [1, 5, 6, 8]
    clamped = Keys({'a "b"': ("x", "y")}, True, Bins("c", bins.edges, clamped=True))
    assert clamped.names[:3] == ("x/[0,5)", "x/[5,9]", "y/[0,5)")
    assert cells_of(clamped, [("x", 5), ("y", 10), ("z", -1), ("x", None)]) == [1, 3, 4, None]


def test_what_every_step_asks_for_is_found_once() -> None:
    keys = Keys({"region": ("north", "south")}, other=True)
    assert keys.values is keys.values
    assert keys.cell is keys.cell
    release = Count(name="visits", measure="count", by={"region": ("north", "south")}, other=True)
    assert release.declared is release.declared == keys
    again = Count(name="visits", measure="count", by={"region": ("north", "south")}, other=True)
    assert again == release  # what was found is no part of it
