"""The variance of a column, from a noisy count, a noisy sum and a noisy sum of squares.

Values are centred on the middle of their range, and squares on half of the largest: one row then
adds h to the sum and h^2 / 2 to the squares at the most, where h is half the range.

The interval: with probability 1 - beta / 3 each, count, sum and squares are within their noise
bounds.  Then the variance is between the least and the greatest value of squares / count - (sum /
count)^2 for such numbers.  It is never below 0 or above h^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss, Pure
from ameles.core.parameters import Exact
from ameles.measures.mean import Mean
from ameles.measures.measure import BETA
from ameles.measures.table_question import Amount, TableQuestion, constant
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.query.ending import AnswerRow, AnyRun, Ending, key_of
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_columns, measured
from ameles.query.row_set import RowSet

# How the loss is divided: the noise of the squares weighs most.
SHARES = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
_COUNT, _SUM, _SQUARES = 1, 2, 3


@dataclass(frozen=True)
class VarianceEnding(Ending):
    """The variance of a column."""

    values: Mean  # for the column, its bounds and the keys

    @property
    def name(self) -> str:
        return "noisy_variance"

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.values.by)

    @property
    def value_name(self) -> str:
        return "variance"

    @property
    def per_row(self) -> bool:
        return True

    @property
    def about(self) -> str:
        return "the variance, times the number of rows"

    @property
    def parts(self) -> int:
        """Parts of a grid unit, so that half the range is an even number of them."""
        low, high = self.values.ends
        return 4 // math.gcd(high - low, 4)

    @property
    def half(self) -> int:
        """Half the range, in parts."""
        low, high = self.values.ends
        return (high - low) * self.parts // 2

    @property
    def part(self) -> Fraction:
        """What one part is worth."""
        return self.values.grid.granularity / self.parts

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_columns(self.values, relation)
        if relation.stability * self.half**2 // 2 > 1 << 40:
            raise BadInput(
                "The squares of these values are too large for a sum of 64 bits.",
                tip="a larger granularity, or a narrower range",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        pure = only_pure(self.name, loss)
        rows, cells = relation.stability, self.values.cells
        return LaplaceSeries(
            epsilons=tuple(pure.epsilon * share for share in SHARES),
            sensitivities=(rows, rows * self.half, rows * self.half**2 // 2),
            widths=(cells, cells, cells),
            neighbours="step",
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        low, high = self.values.ends
        units, where = self.values.table_units(look.columns)
        centred = Amount(units, self.parts, (low + high) * self.parts // 2)
        each = f"({centred.of_each_row})"
        amounts = (constant(1), centred, Amount(f"{each} * {each}", 1, self.half**2 // 2))
        keys = self.values.declared
        exact = look.totals_of(TableQuestion(keys=keys, amounts=amounts, where=where))
        count, total, squares = (run.step(vector) for vector in exact.reshape(len(amounts), -1))
        bounds = [recipe.error.bound(step, BETA / 3) for step in (_COUNT, _SUM, _SQUARES)]
        rows = zip(self.values.keys, count.tolist(), total.tolist(), squares.tolist(), strict=True)
        return tuple(
            self._row(key_of(key, len(self.values.by)), numbers, bounds) for key, *numbers in rows
        )

    def _row(self, key: tuple[str, ...], numbers: list[int], bounds: list[float]) -> AnswerRow:
        count, total, squares = numbers
        most, unit = float(self.half) ** 2, float(self.part) ** 2
        if count <= 0:
            return AnswerRow(key=key, value=most / 2 * unit, low=0.0, high=most * unit)
        value = squares / count + most / 2 - (total / count) ** 2
        fewest, largest = count - bounds[0], count + bounds[0]
        low, high = 0.0, most
        if fewest > 0:
            means = sorted(abs(total + sign * bounds[1]) for sign in (-1, 1))
            least_mean = 0.0 if abs(total) <= bounds[1] else means[0] / largest
            ends = [squares + sign * bounds[2] for sign in (-1, 1)]
            low = min(ends[0] / fewest, ends[0] / largest) + most / 2 - (means[1] / fewest) ** 2
            high = max(ends[1] / fewest, ends[1] / largest) + most / 2 - least_mean**2
        low, high = max(0.0, low), max(0.0, min(most, high))
        return AnswerRow(
            key=key,
            value=min(max(value, low), high) * unit,
            low=min(low, high) * unit,
            high=high * unit,
        )

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(_SQUARES, BETA / 3) * float(self.part) ** 2

    def to_dict(self) -> dict[str, Any]:
        asked = self.values.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        return {"end": self.name, **asked}


def variance_ending(*, granularity: Exact = 1, **fields: Any) -> VarianceEnding:
    """The variance of a column with these bounds."""
    values = measured("noisy_variance", Mean, measure="mean", granularity=granularity, **fields)
    return VarianceEnding(values)


def only_pure(name: str, loss: EpsilonLoss) -> Pure:
    """The loss, if it is a pure epsilon."""
    if not isinstance(loss, Pure):
        raise BadInput(f"{name} has Laplace noise only, so it takes no delta.", tip="delta=0")
    return loss
