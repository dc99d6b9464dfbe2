"""Endings that choose from public candidates: the most common key, and the median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.parameters import Exact
from ameles.measures.count import Count
from ameles.measures.mean import Mean
from ameles.measures.measure import BETA
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_columns, measured
from ameles.query.row_set import RowSet
from ameles.query.variance import only_pure

MOST_CANDIDATES = 1 << 20


@dataclass(frozen=True)
class MostCommonEnding(Ending):
    """The public key that most rows have; only its name is published."""

    counted: Count

    @property
    def name(self) -> str:
        return "most_common"

    @property
    def value_name(self) -> str:
        return "/".join(self.counted.by)

    @property
    def about(self) -> str:
        return f"the number of {self.interval_of}"

    @property
    def interval_of(self) -> str:
        return "rows by which another key may have more"

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_columns(self.counted, relation)

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        return PermuteAndFlip(
            epsilon=only_pure(self.name, loss).epsilon,
            candidates=self.counted.cells,
            sensitivity=relation.stability,
            monotone=relation.monotone,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        chosen = run.step(look.totals_of(self.counted.table_question(look.columns)))
        behind = self.half_width(look.relation, recipe)
        return (AnswerRow(value=self.counted.keys[chosen], low=0, high=behind),)

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(1, BETA)

    def to_dict(self) -> dict[str, Any]:
        return {"end": self.name, "by": {name: [*keys] for name, keys in self.counted.by.items()}}


@dataclass(frozen=True)
class MedianEnding(Ending):
    """The value with as many rows below as above it, chosen on a public grid.

    The score of a value is minus the number of rows that would have to be added to make it a
    median: the difference between the rows below and above it, less those that have it.  One row
    changes it by one (catalogue 44).  The interval is about that number.  No interval of values
    follows from it: how far apart the values in the middle are is not known without another look.
    """

    values: Mean  # for the column and its grid

    @property
    def name(self) -> str:
        return "noisy_median"

    @property
    def value_name(self) -> str:
        return "median"

    @property
    def about(self) -> str:
        return f"the number of {self.interval_of}"

    @property
    def interval_of(self) -> str:
        return "rows that it is off the middle by"

    @property
    def candidates(self) -> int:
        """The values of the grid."""
        low, high = self.values.ends
        return high - low + 1

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_columns(self.values, relation)
        if self.candidates > MOST_CANDIDATES:
            raise BadInput(
                f"The median is chosen from up to {MOST_CANDIDATES} values of a grid, and this one "
                f"has {self.candidates}.",
                tip="a larger granularity",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        return PermuteAndFlip(
            epsilon=only_pure(self.name, loss).epsilon,
            candidates=self.candidates,
            sensitivity=relation.stability,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        low, _ = self.values.ends
        units, where = self.values.table_units(look.columns)
        counts = look.totals(f"{units} - ({low})", ("1",), self.candidates, where=where)
        upto = np.cumsum(counts)
        below, above = upto - counts, upto[-1] - upto
        chosen = run.step(-np.maximum(np.abs(below - above) - counts, 0))
        value = (low + chosen) * self.values.grid.granularity
        published = int(value) if value.denominator == 1 else float(value)
        # the best score is 0: a median of values on the grid is on the grid
        return (AnswerRow(value=published, low=0, high=self.half_width(look.relation, recipe)),)

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(1, BETA)

    def to_dict(self) -> dict[str, Any]:
        asked = self.values.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        return {**asked, "end": self.name}


def most_common_ending(*, column: str, keys: Sequence[str]) -> MostCommonEnding:
    """The keys to choose from."""
    return MostCommonEnding(
        measured("most_common", Count, measure="count", by={column: list(keys)})
    )


def median_ending(*, granularity: Exact = 1, **fields: Any) -> MedianEnding:
    """The median of a column on this grid."""
    return MedianEnding(
        measured("noisy_median", Mean, measure="mean", granularity=granularity, **fields)
    )
