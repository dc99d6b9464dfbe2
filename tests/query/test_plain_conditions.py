"""Conditions that cannot fail are run without TRY, so that DuckDB can use them to skip rows."""

from __future__ import annotations

import pytest

from ameles.plan.condition import check_condition
from ameles.query.steps import cannot_fail

COLUMNS = {
    "age": "integer",
    "fever": "boolean",
    "size": "number",
    "word": "text",
    "at": "timestamp",
    'a"b': "integer",
}
PLAIN = [
    "age >= 5",
    "fever AND age < 3",
    "NOT fever",
    "age IS NULL",
    "size > age OR fever",
    "size > 1.5",
    "age IN (1, 2)",
    "age BETWEEN 1 AND 3",
]
OTHERS = [
    "age + 1 > 3",
    "word = '7'",
    "word < 'a' AND age > 1",
    "word IS NULL",
    "CAST(word AS BIGINT) > 50",
    "\"at\" > TIMESTAMP '2026-01-01'",
    "length(word) > 3",
    '"a""b" > 3',
]


@pytest.mark.parametrize("condition", PLAIN)
def test_comparisons_of_numbers_cannot_fail(condition: str) -> None:
    assert cannot_fail(check_condition(condition, COLUMNS), COLUMNS)


@pytest.mark.parametrize("condition", OTHERS)
def test_everything_else_may(condition: str) -> None:
    assert not cannot_fail(check_condition(condition, COLUMNS), COLUMNS)


def test_an_unknown_column_may_be_of_any_kind() -> None:
    assert not cannot_fail('("age" > CAST(3 AS BIGINT))', {})
