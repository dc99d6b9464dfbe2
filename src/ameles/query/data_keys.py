"""Endings that discover keys: what they share, and keys that are published without a count.

Refusals and explanations have the words of plans whose keys are discovered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Unit
from ameles.core.loss import Approx, EpsilonLoss
from ameles.core.words import brief
from ameles.measures.key_words import (
    BY_DATA_ALONE,
    ONE_PERSON,
    SMALL_DELTA,
    not_discovered,
    own_crowd,
    published_once,
)
from ameles.measures.measure import BETA, KEYED
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_column
from ameles.query.row_set import RowSet


@dataclass(frozen=True)
class DataKeysEnding(Ending):
    """Publishes values of a column: of a kind that has keys, and never without a delta."""

    column: str

    @property
    def key_names(self) -> tuple[str, ...]:
        return (self.column,)

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_column(self.column, relation)
        if relation.columns[self.column] not in KEYED:
            raise BadInput(f"The column '{self.column}' must be text, integer or boolean here.")

    def with_delta(self, loss: EpsilonLoss) -> Approx:
        """The loss; refused without a delta."""
        if isinstance(loss, Approx):
            return loss
        raise BadInput(
            not_discovered(self.column, "with delta = 0"),
            why=ONE_PERSON,
            tip=f"delta = 1e-9, {SMALL_DELTA}; or declared keys",
        )

    def key_notes(self, needed: float, units: str, unit: Unit) -> tuple[tuple[str, str], ...]:
        """How many units a key needs, in the words of plans; what a unit of one row cannot hide."""
        once = published_once(f"about {needed:,.0f} {units}", units)
        notes = [("keys", f"{once}. {BY_DATA_ALONE}")]
        if unit == EVENT:
            notes.append(("unit row", own_crowd("rows")))
        return tuple(notes)

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(1, BETA)


@dataclass(frozen=True)
class PrivateKeysEnding(DataKeysEnding):
    """The values of a column that enough units have brought, so that they may be published.

    A published key has no interval.  A key of any number of units is published sometimes, and its
    name is all that is told: given that it is published, it may have one unit.  Keys that are
    ``joined`` with those of other columns have no slash.
    """

    joined: bool = False

    @property
    def name(self) -> str:
        return "private_keys"

    def interval_in_words(self, recipe: AnyMechanism, half: float) -> str:
        units = _units(recipe.guarantee.unit)
        return f"none; a key that is not published has at most {brief(half)} {units}, with 95%"

    def notes(self, recipe: AnyMechanism) -> tuple[tuple[str, str], ...]:
        unit, needed = recipe.guarantee.unit, recipe.error.bound(1, 0.5) + 1
        return self.key_notes(needed, _units(unit), unit)

    def check(self, relation: RowSet, unit: Unit) -> None:
        super().check(relation, unit)
        if relation.user is None and (unit != EVENT or relation.stability > 1):
            raise BadInput(
                "The rows of this query no longer show which unit they belong to.",
                why="a key is published once enough units have brought it, however many rows each "
                "has",
                tip="ask for keys before the transformations that multiply rows",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        spent = self.with_delta(loss)
        groups = relation.sources[0].unit.max_groups if relation.user is not None else 1
        return KeySelection(
            epsilon=spent.epsilon,
            delta=spent.delta,
            max_groups=groups,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        keys, units = look.units_of_keys(self.column, joined=self.joined)
        kept = sorted(keys[place] for place in run.step(units).tolist())
        return tuple(AnswerRow(key=(key,), value="published") for key in kept)

    def to_dict(self) -> dict[str, Any]:
        joined = {"joined": True} if self.joined else {}
        return {"end": self.name, "column": self.column, **joined}


def _units(unit: Unit) -> str:
    return "rows" if unit == EVENT else "users"


def private_keys_ending(*, column: str, joined: bool = False) -> PrivateKeysEnding:
    """The column whose values are the keys."""
    return PrivateKeysEnding(column, joined)
