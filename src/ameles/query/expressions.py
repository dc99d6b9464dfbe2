"""SQL that a person wrote about one row: conditions and expressions, checked as those of plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ameles.core.exceptions import BadInput, PlanError
from ameles.plan.condition import check_expression
from ameles.plan.condition_sql import NULL
from ameles.query.row_set import RowSet


def checked(check: Callable[[str, Mapping[str, str]], Any], text: str, relation: RowSet) -> Any:
    """What a check of plans says about SQL over these columns; all else than a text is refused."""
    if not isinstance(text, str):
        raise BadInput(
            f"A condition or an expression must be SQL, as text. Got a {type(text).__name__}.",
            why="a Python function could look at other rows, remember them, or leak what it saw",
            tip='where("age >= 18")',
        )
    try:
        return check(text, relation.columns)
    except PlanError as refusal:
        raise BadInput(f"{text[:80]!r}: {refusal.what}", why=refusal.why, tip=refusal.tip) from None


def checked_expression(text: str, relation: RowSet) -> tuple[str, str]:
    """The SQL of an expression, and the kind of its values."""
    sql, kind = checked(check_expression, text, relation)
    if kind == NULL:
        raise BadInput(f"{text[:80]!r} has no kind: it is always NULL.")
    return sql, kind
