"""Questions about integers: the quick SQL gives what the general SQL gives."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from ameles.measures.catalogue import MEASURES
from ameles.measures.measure import Measure

VALUES = [None, 0, 1, -1, 9, 10, 11, 20, 21, 49, 50, 99, 100, 101, -(2**63), 2**63 - 1, 2**53 + 1]
LARGE = 2**53

QUESTIONS: dict[str, dict[str, Any]] = {
    "sum": {"lower": 0, "upper": 100, "granularity": 1},
    "sum of both signs": {"lower": -10, "upper": 11, "granularity": 1},
    "sum on a coarse grid": {"lower": 0, "upper": 100, "granularity": 10},
    "sum on a fine grid": {"lower": 0, "upper": 20, "granularity": "0.5"},
    "mean": {"lower": -1, "upper": 100, "granularity": 1},
    "histogram": {"edges": [0, 10, 20, 30]},
    "histogram with other": {"edges": [-10, 0, 10, 20], "other": True},
    "histogram of uneven bins": {"edges": [0, 10, 50]},
    "histogram of halves": {"edges": ["0.5", "1.5", "2.5"]},
    "histogram of large values": {"edges": [-LARGE, 0, LARGE]},
    "quantile": {"edges": [0, 10, 20, 30, 40, 50], "q": "0.5"},
    "quantile of one bin": {"edges": [0, 10], "q": "0.5"},
}


def _measure(name: str) -> Measure:
    kind = name.split()[0]
    table: dict[str, Any] = {"name": "x", "measure": kind, "column": "age", **QUESTIONS[name]}
    return MEASURES[kind].model_validate(table)


@pytest.mark.parametrize("name", QUESTIONS)
def test_integers_give_the_same_cells_and_amounts(name: str) -> None:
    measure = _measure(name)
    general, quick = measure.question, measure.question_of({"age": "integer"})
    rows = ", ".join("(NULL)" if one is None else f"('{one}'::BIGINT)" for one in VALUES)

    def asked(cell: str, amounts: tuple[str, ...]) -> list[Any]:
        # the amounts of an event without a cell do not matter
        shown = [f"CASE WHEN ({cell}) IS NOT NULL THEN {one} END" for one in amounts]
        query = f"SELECT age, {cell}, {', '.join(shown)} FROM (VALUES {rows}) AS v(age)"
        return duckdb.execute(query).fetchall()

    assert asked(quick.cell, quick.amounts) == asked(general.cell, general.amounts)
    assert quick.cells == general.cells


@pytest.mark.parametrize("name", ["sum", "mean", "histogram", "quantile"])
def test_integers_need_no_floating_point_numbers(name: str) -> None:
    quick = _measure(name).question_of({"age": "integer"})
    assert "DOUBLE" not in quick.cell + "".join(quick.amounts)


@pytest.mark.parametrize("name", QUESTIONS)
def test_other_columns_are_asked_as_before(name: str) -> None:
    measure = _measure(name)
    assert measure.question_of({"age": "number"}) == measure.question
