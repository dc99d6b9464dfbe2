"""Says which of many counts are above a threshold; only the counts above it are paid for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss
from ameles.measures.measure import BETA
from ameles.mechanisms.continual.noisy_threshold import Reply, Said
from ameles.mechanisms.continual.sparse_vector import above_threshold
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.plan.condition import check_condition
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes
from ameles.query.expressions import checked
from ameles.query.look import TableLook
from ameles.query.row_set import RowSet
from ameles.query.variance import only_pure

MOST = 10_000


@dataclass(frozen=True)
class ThresholdEnding(Ending):
    """For each condition, whether the number of its rows is above the threshold."""

    conditions: tuple[str, ...]
    threshold: int
    aboves: int

    @property
    def name(self) -> str:
        return "above_threshold"

    @property
    def key_names(self) -> tuple[str, ...]:
        return ("condition",)

    @property
    def value_name(self) -> str:
        return "answer"

    @property
    def about(self) -> str:
        return "the distance from the threshold within which an answer may be wrong"

    @property
    def interval_of(self) -> str:
        return "the number of its rows"

    def check(self, relation: RowSet, unit: Unit) -> None:
        for condition in self.conditions:
            checked(check_condition, condition, relation)

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        return above_threshold(
            epsilon=only_pure(self.name, loss).epsilon,
            aboves=self.aboves,
            threshold=self.threshold,
            sensitivity=relation.stability,
            monotone=relation.monotone,
            neighbours=comes_and_goes(unit),
            unit=unit,
            horizon=len(self.conditions),
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        columns = look.relation.columns
        amounts = [
            f"CASE WHEN TRY({check_condition(text, columns)}) IS TRUE THEN 1 ELSE 0 END"
            for text in self.conditions
        ]
        exact = look.totals("0", amounts, 1)
        replies: Iterable[Reply] = run.feed(exact.tolist())
        wrong = self.half_width(look.relation, recipe)
        return tuple(
            AnswerRow(key=(text,), value=str(reply), **self._interval(reply.said, wrong))
            for text, reply in zip(self.conditions, replies, strict=True)
        )

    def _interval(self, said: Said, wrong: float) -> dict[str, int]:
        """The interval of a count: all of them hold together, with 95%.

        If the noises are at most ``wrong``, a count that is above is at least the threshold minus
        ``wrong``, and one that is below is less than the threshold plus ``wrong``.
        """
        match said:
            case Said.ABOVE:
                return {"low": max(0, math.ceil(self.threshold - wrong))}
            case Said.BELOW:
                return {"low": 0, "high": max(0, math.ceil(self.threshold + wrong) - 1)}
        return {}

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound_all(len(self.conditions), BETA)

    def to_dict(self) -> dict[str, Any]:
        return {
            "end": self.name,
            "conditions": list(self.conditions),
            "threshold": self.threshold,
            "aboves": self.aboves,
        }


def threshold_ending(
    *, conditions: Sequence[str], threshold: int, aboves: int = 1
) -> ThresholdEnding:
    """The conditions to ask about, in their order."""
    if isinstance(conditions, str) or not 1 <= len(conditions) <= MOST:
        raise BadInput(
            f"above_threshold needs a list of 1 to {MOST} conditions.", tip='["age > 80", "fever"]'
        )
    return ThresholdEnding(tuple(conditions), threshold, aboves)
