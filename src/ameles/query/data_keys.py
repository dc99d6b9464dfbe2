"""Endings that name keys of the data: what they share, and keys that are named without a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Unit
from ameles.core.loss import Approx, EpsilonLoss
from ameles.measures.key_words import ONE_PERSON
from ameles.measures.measure import BETA, KEYED
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_column
from ameles.query.row_set import RowSet


@dataclass(frozen=True)
class DataKeysEnding(Ending):
    """Names values of a column: of a kind that has keys, and never without a delta."""

    column: str

    @property
    def key_names(self) -> tuple[str, ...]:
        return (self.column,)

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_column(self.column, relation)
        if relation.columns[self.column] not in KEYED:
            raise BadInput(f"The column '{self.column}' must be text, integer or boolean here.")

    def with_delta(self, loss: EpsilonLoss, example: str) -> Approx:
        """The loss; refused without a delta.  ``example`` is a call that has one."""
        if isinstance(loss, Approx):
            return loss
        raise BadInput(
            "Keys of the data can only be named with a delta.",
            why=ONE_PERSON,
            tip=f"{example}, or public keys",
        )

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(1, BETA)


@dataclass(frozen=True)
class PrivateKeysEnding(DataKeysEnding):
    """The values of a column that enough units have, so that they may be named.

    A named key has no interval.  A key of any number of units is named sometimes, and its name is
    all that is published: given that it is named, it may have one unit.
    """

    @property
    def name(self) -> str:
        return "private_keys"

    @property
    def about(self) -> str:
        return "the number of units that a missing key may have"

    def check(self, relation: RowSet, unit: Unit) -> None:
        super().check(relation, unit)
        if relation.user is None and (unit != EVENT or relation.stability > 1):
            raise BadInput(
                "The rows of this query no longer show which unit they belong to.",
                why="a key may be named if enough units have it, however many rows each has",
                tip="ask for keys before the transformations that multiply rows",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        spent = self.with_delta(loss, 'private_keys("region", epsilon=0.5, delta="1e-6")')
        groups = relation.sources[0].unit.max_groups if relation.user is not None else 1
        return KeySelection(
            epsilon=spent.epsilon,
            delta=spent.delta,
            max_groups=groups,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        keys, units = look.units_of_keys(self.column)
        kept = sorted(keys[place] for place in run.step(units).tolist())
        return tuple(AnswerRow(key=(key,), value="named") for key in kept)

    def to_dict(self) -> dict[str, Any]:
        return {"end": self.name, "column": self.column}


def private_keys_ending(*, column: str) -> PrivateKeysEnding:
    """The column whose values are the keys."""
    return PrivateKeysEnding(column)
