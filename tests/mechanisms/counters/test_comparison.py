"""Comparisons and counters show themselves as tables."""

from __future__ import annotations

import pytest

from ameles import BinaryCounter, compare, counter
from ameles.mechanisms.counters.comparison import HEADS, CounterComparison


def test_a_comparison_is_a_list_that_prints_as_a_table() -> None:
    comparison = compare(epsilon=1, horizon=64)
    assert isinstance(comparison, list)
    head, *lines = str(comparison).splitlines()
    assert all(name in head for name in HEADS)
    assert [line.split()[0] for line in lines] == [row.name for row in comparison]
    assert repr(comparison) == str(comparison)


def test_a_slice_is_a_comparison_and_an_item_a_row() -> None:
    comparison = compare(epsilon=1, horizon=64)
    assert isinstance(comparison[:2], CounterComparison)
    assert len(comparison[:2]) == 2
    assert comparison[0].why == "the smallest error"


def test_a_notebook_shows_the_same_cells() -> None:
    comparison = compare(epsilon=1)
    page = comparison._repr_html_()
    assert page.count("<tr>") == len(comparison) + 1
    assert "<td>HybridCounter of SiblingsCounter</td>" in page


@pytest.mark.parametrize(
    ("horizon", "steps"),
    [(1, ["1"]), (2, ["1", "2"]), (365, ["1", "183", "365"]), (None, ["1", "1,000", "1,000,000"])],
)
def test_a_counter_shows_its_error_and_its_promise(horizon: int | None, steps: list[str]) -> None:
    recipe = counter(epsilon=1, horizon=horizon)
    lines = str(recipe).splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == steps
    assert lines[-1] == f"{type(recipe).__name__}: {recipe.guarantee}"


def test_the_numbers_are_those_of_the_error() -> None:
    recipe = BinaryCounter(epsilon=1, horizon=365)
    assert str(recipe).splitlines()[3].split()[2] == str(recipe.error.bound(365, 0.05))
    assert f"<td>{recipe.error.bound(365, 0.05)}</td>" in recipe._repr_html_()
    assert repr(recipe).startswith("BinaryCounter(")
