"""Problems are told in the words of a plan, all of them, and survive a copy."""

from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

from ameles.core.exceptions import PlanError
from ameles.plan.problems import BadPlan, Problem, problems_of
from ameles.plan.sections import PrivacySection, StreamSection

FIRST = Problem("stream.name", "It is missing.", tip="name = ...")
SECOND = Problem("privacy.epsilon", "It must be a number.", why="it is spent", tip="0.5")


def test_a_problem_as_text() -> None:
    assert str(SECOND) == (
        "error[plan]: privacy.epsilon: It must be a number.\n  why: it is spent\n  try: 0.5"
    )
    assert str(Problem("", "No.")) == "error[plan]: No."


def test_a_bad_plan_tells_all_and_is_a_plan_error() -> None:
    refused = BadPlan([FIRST, SECOND])
    assert isinstance(refused, PlanError)
    assert refused.exit_code == 2
    assert str(refused) == f"{FIRST}\n{SECOND}"
    assert (refused.what, refused.tip) == ("stream.name: It is missing.", "name = ...")


def test_it_survives_a_copy() -> None:
    again = copy.deepcopy(BadPlan([FIRST, SECOND]))  # by the same method as pickle
    assert again.problems == (FIRST, SECOND)
    assert str(again) == f"{FIRST}\n{SECOND}"


@pytest.mark.parametrize(
    ("table", "key", "what", "tip"),
    [
        ({"nme": "s"}, "stream.nme", "There is no such key.", "name"),
        ({"zzz": 1}, "stream.zzz", "There is no such key.", "one of avro_schema, "),
        ({"late": "no"}, "stream.late", "It must be 'next' or 'drop'.", 'late = "next"'),
        ({"late": 3}, "stream.late", "It must be 'next' or 'drop'.", 'late = "next"'),
        ({"horizon": 0}, "stream.horizon", "It must be at least 1.", "horizon = 1"),
        ({"horizon": "9"}, "stream.horizon", "It must be a whole number.", "horizon = 1"),
        ({"zone": 1}, "stream.zone", "It must be a text in quotes.", 'zone = "..."'),
        ({"columns": []}, "stream.columns", "It must be a table.", "columns = { ... }"),
        ({"columns": {"a": 1}}, "stream.columns.a", "It must be 'text', ", 'a = "text"'),
        (
            {"columns": {"": "text"}},
            "stream.columns.",
            "It must be the name of a column, of up to 255 characters in one line.",
            "a name as in the first line of the source",
        ),
        ({}, "stream.start", "It is missing.", "start = ..."),
    ],
)
def test_what_validation_finds(table: dict[str, object], key: str, what: str, tip: str) -> None:
    with pytest.raises(ValidationError) as failed:
        StreamSection.model_validate(table)
    problems = problems_of(failed.value, "stream", StreamSection.model_fields)
    (problem,) = (one for one in problems if one.key == key)
    assert problem.what.startswith(what)
    assert problem.tip.startswith(tip)


def test_a_table_that_is_none() -> None:
    with pytest.raises(ValidationError) as failed:
        PrivacySection.model_validate([1])
    (problem,) = problems_of(failed.value, "privacy", PrivacySection.model_fields)
    assert (problem.key, problem.what, problem.tip) == (
        "privacy",
        "It must be a table.",
        "[privacy]",
    )


def test_a_long_key_is_cut() -> None:
    said = str(Problem("k" * 100_000, "There is no such key."))
    assert len(said) < 300
