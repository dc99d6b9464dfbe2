"""Counts by keys that are discovered: one noise decides which are published, and counts rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.words import brief
from ameles.measures.measure import BETA
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.key_counts import KeyCounts
from ameles.query.data_keys import DataKeysEnding
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes
from ameles.query.look import TableLook
from ameles.query.measure_ending import measure_ending
from ameles.query.row_set import RowSet


@dataclass(frozen=True)
class KeyCountsEnding(DataKeysEnding):
    """The values of a column that enough rows have, and how many rows each has."""

    @property
    def name(self) -> str:
        return "noisy_count"

    @property
    def value_name(self) -> str:
        return "count"

    @property
    def about(self) -> str:
        return "the count of a key that is surely published"

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        spent = self.with_delta(loss)
        return KeyCounts(
            epsilon=spent.epsilon,
            delta=spent.delta,
            max_rows=relation.stability,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        keys, rows = look.rows_of_keys(self.column)
        named = run.step(rows)
        bought: Any = recipe  # that of ``recipe``, above
        low, high = bought.error.interval(named[:, 1], BETA)
        published = zip(named.tolist(), low.tolist(), high.tolist(), strict=True)
        answers = [
            AnswerRow(key=(keys[place],), value=count, low=least, high=most)
            for (place, count), least, most in published
        ]
        return tuple(sorted(answers, key=lambda row: row.key))

    def notes(self, recipe: AnyMechanism) -> tuple[tuple[str, str], ...]:
        bought: Any = recipe
        needed, sure = bought.error.named(0.5) + 1, brief(bought.error.named(BETA))
        return (
            *self.key_notes(needed, "rows", recipe.guarantee.unit),
            ("surely", f"a key of more than {sure} rows is published, with 95%"),
            (f"near {brief(needed)}", "intervals reach further down: noise may have lifted a key"),
        )

    def to_dict(self) -> dict[str, Any]:
        return {"end": self.name, "private_by": self.column}


def count_ending(*, private_by: str | None = None, **fields: Any) -> Ending:
    """How many rows there are, by declared keys, or by the keys of a column of the data."""
    if private_by is None:
        return measure_ending("noisy_count", "count", **fields)
    if fields:
        raise BadInput(f"A count by discovered keys has no '{min(fields)}'.")
    return KeyCountsEnding(private_by)
