"""What can be known before a question is asked, and what a person may write."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from tests.query.tables import table

AGES: dict[str, Any] = {"column": "age", "lower": 0, "upper": 120}


def half_of(text: str) -> float:
    (line,) = (line for line in text.splitlines() if line.startswith("  interval"))
    return float(line.partition("give or take ")[2].partition(", with")[0].replace(",", ""))


def test_an_average_is_explained_for_an_expected_number_of_rows() -> None:
    visits = table()
    plain = visits.explain("noisy_average", epsilon=1, **AGES)
    assert "the value times the number of events" in plain
    guessed = visits.explain("noisy_average", epsilon=1, expected_rows=100, **AGES)
    assert "the mean, if there are about 100 rows, give or take" in guessed
    assert half_of(guessed) == pytest.approx(half_of(plain) / 100, rel=0.01)


def test_a_guess_changes_nothing_for_counts() -> None:
    visits = table()
    guessed = visits.explain("noisy_count", epsilon=1, expected_rows=100)
    assert guessed == visits.explain("noisy_count", epsilon=1)


@pytest.mark.parametrize(
    ("end", "asked"),
    [
        ("noisy_average", AGES),
        ("noisy_variance", AGES),
        ("k_means", {"bounds": {"age": (0, 120)}, "clusters": 2}),
    ],
)
def test_the_forecast_of_an_average_needs_an_expected_number_of_rows(
    end: str, asked: dict[str, Any]
) -> None:
    visits = table()
    with pytest.raises(BadInput, match="needs expected_rows"):
        visits.forecast(end, error=1, **asked)
    few = visits.forecast(end, error=1, expected_rows=10**6, **asked)
    many = visits.forecast(end, error=1, expected_rows=10**7, **asked)
    assert few == pytest.approx(10 * many, rel=0.01)
    guesses: tuple[Any, ...] = (0, "many")
    for wrong in guesses:
        with pytest.raises(BadInput, match="'expected_rows'"):
            visits.forecast(end, error=1, expected_rows=wrong, **asked)


def test_what_is_forecast_is_what_is_explained() -> None:
    visits = table()
    epsilon = visits.forecast("noisy_average", error=2, expected_rows=1000, **AGES)
    said = visits.explain("noisy_average", epsilon=epsilon, expected_rows=1000, **AGES)
    assert half_of(said) <= 2


def test_parts_have_a_forecast() -> None:
    parts = table().partition(region=["north", "south"])
    assert parts.forecast("noisy_count", error=10) > Fraction(1, 10)
    whole, part = (
        one.forecast("noisy_average", error=1, expected_rows=1000, **AGES)
        for one in (table(), parts)
    )
    assert part >= whole
    assert "if there are about 50 rows" in parts.explain(
        "noisy_average", epsilon=1, expected_rows=50, **AGES
    )


def test_python_functions_are_refused_with_the_reason() -> None:
    function: Any = lambda row: row.age > 3
    visits = table()
    asks: list[Callable[[], object]] = [
        lambda: visits.where(function),
        lambda: visits.select(old=function),
        lambda: visits.select_many("part", [function]),
    ]
    for ask in asks:
        with pytest.raises(BadInput, match="must be SQL") as refusal:
            ask()
        assert "could look at other rows" in refusal.value.why


def test_edges_may_be_a_range() -> None:
    visits = table()
    listed = visits.recipe("quantile", column="age", q="0.5", edges=[0, 60, 120], epsilon=1)
    assert visits.recipe("quantile", column="age", q="0.5", edges=range(0, 121, 60), epsilon=1) == (
        listed
    )
    assert len(visits.histogram("age", edges=range(0, 121, 60), epsilon=1)) == 2


def test_a_drawing_is_shown_by_a_notebook() -> None:
    picture = table().partition(region=["north", "south"]).noisy_count(epsilon=1).plot()
    assert picture is not None
    assert repr(picture) == "<drawing>"
    assert picture._repr_svg_().startswith("<?xml")
    assert "north" in picture.svg


def test_an_answer_at_the_prompt_is_the_table() -> None:
    answer = table().noisy_count(epsilon=1)
    assert repr(answer) == str(answer)
    assert repr(answer).startswith("count")


def test_the_forecast_of_a_variance_is_in_squares_of_the_grid() -> None:
    whole: dict[str, Any] = {"column": "age", "lower": 0, "upper": 100, "expected_rows": 10}
    tenths = {**whole, "upper": 10, "granularity": "0.1"}
    needed = table().forecast("noisy_variance", error=50, **whole)
    assert table().forecast("noisy_variance", error="0.5", **tenths) == needed
