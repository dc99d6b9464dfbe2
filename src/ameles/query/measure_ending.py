"""Endings that are measures of plans: the same names, bounds, mechanisms and intervals.

A question is a stream of one step: all rows are in it, and one unit changes as many of them as the
stability of the relation says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Unit
from ameles.core.loss import EpsilonLoss
from ameles.measures.catalogue import MEASURES
from ameles.measures.histogram import Histogram
from ameles.measures.key_words import needs_more, not_discovered
from ameles.measures.mean import Mean
from ameles.measures.measure import Measure, Published, Terms
from ameles.measures.top import Top
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.plan.problems import problems_of
from ameles.query.ending import AnswerRow, AnyRun, Ending, key_of
from ameles.query.look import TableLook
from ameles.query.row_set import RowSet

MeasureT = TypeVar("MeasureT", bound=Measure)

_NO_HISTORY = np.zeros((0, 0), dtype=np.int64)
_FIRST = np.array([1])
_VALUES = {"histogram": "count", "top": "count", "distinct": "users"}


@dataclass(frozen=True)
class MeasureEnding(Ending):
    """One measure, asked once."""

    called: str
    measure: Measure

    @property
    def name(self) -> str:
        return self.called

    @property
    def key_names(self) -> tuple[str, ...]:
        measure = self.measure
        if isinstance(measure, Top):
            return ("rank", "/".join(measure.by))
        by = tuple(measure.by)
        return (*by, measure.column) if isinstance(measure, Histogram) else by

    @property
    def value_name(self) -> str:
        return _VALUES.get(self.measure.measure, self.measure.measure)

    @property
    def per_row(self) -> bool:
        return isinstance(self.measure, Mean)

    @property
    def about(self) -> str:
        return self.measure.forecast

    def terms(self, relation: RowSet, unit: Unit) -> Terms:
        """A stream of one step."""
        return Terms(unit=unit, per_step=relation.stability, max_steps=1, horizon=1, window=None)

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_columns(self.measure, relation)
        if self.measure.discovered is not None:
            raise BadInput(
                not_discovered(self.measure.discovered, f"for {self.called}"),
                why=needs_more(self.called),
                tip=f'private_partition("{self.measure.discovered[:64]}").noisy_count, or declared '
                "keys",
            )
        for one in self.measure.refusals(self.terms(relation, unit), weighted=False):
            raise BadInput(one.what, why=one.why)
        if self.measure.question.once is not None and relation.user is None:
            raise BadInput(
                "The rows of this query no longer show which user they belong to.",
                why="a user counts once, whatever rows there are",
                tip="keep the user column in select, and group by it" if unit != EVENT else "",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        return self.measure.recipe(self.terms(relation, unit), loss)

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        question = self.measure.question
        if question.once is not None:
            exact = look.users(question.cell, question.cells)
        else:
            exact = look.totals_of(self.measure.table_question(look.columns))
        outputs = np.asarray(run.feed(exact.reshape(1, -1)))
        terms = self.terms(look.relation, recipe.guarantee.unit)
        return self._rows(self.measure.publish(recipe, terms, outputs, 1, _NO_HISTORY))

    def _rows(self, published: Published) -> tuple[AnswerRow, ...]:
        columns = len(self.key_names) - (published.label is not None)
        keys = [key_of(key, columns) for key in self.measure.keys]
        if published.label is not None:
            labels = published.label[0].tolist()
            keys = [(*key, label) for key, label in zip(keys, labels, strict=True)]
        values = zip(keys, published.value[0], published.low[0], published.high[0], strict=True)
        return tuple(
            AnswerRow(key=key, value=value.item(), low=low.item(), high=high.item())
            for key, value, low, high in values
        )

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        terms = self.terms(relation, recipe.guarantee.unit)
        return float(self.measure.half_widths(recipe, terms, _FIRST)[0])

    def to_dict(self) -> dict[str, Any]:
        asked = self.measure.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        return {"end": self.called, **asked}


def measure_ending(called: str, kind: str, **fields: Any) -> MeasureEnding:
    """The ending of a measure with these fields; a refusal says what is wrong with them."""
    return MeasureEnding(called, measured(called, MEASURES[kind], measure=kind, **fields))


def measured(called: str, kind: type[MeasureT], **fields: Any) -> MeasureT:
    """A measure with these fields; a refusal says what is wrong with them."""
    try:
        return kind.model_validate({"name": "answer", **fields})
    except ValidationError as failure:
        problem = problems_of(failure, "", kind.model_fields)[0]
        key = f"The '{problem.key}' of {called}: " if problem.key else ""
        raise BadInput(f"{key}{problem.what}", why=problem.why) from None


def check_columns(measure: Measure, relation: RowSet) -> None:
    """Refuses columns that the relation does not have, or has of another kind."""
    for column in measure.columns:
        check_column(column, relation)
    for one in measure.column_refusals(relation.columns):
        raise BadInput(one.what, why=one.why)


def check_column(column: str, relation: RowSet) -> None:
    """Refuses a column that the relation does not have."""
    if column not in relation.columns:
        raise BadInput(
            f"There is no column '{column}' in this query.",
            tip=f"one of {', '.join(relation.columns)[:200]}",
        )
