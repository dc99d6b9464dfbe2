"""How a guarantee enters a cap: through the relation, the unit, then the currency.

A cap is stated for one neighbouring relation, one unit and one currency.  A guarantee for
another relation or a finer unit still says something about it, by group privacy:

    step or add-remove, under a cap for replace            twice: one row leaves, one comes
    user presence, under a cap for user substitution       twice: two users' data move
    step, under a cap for add-remove or user presence      once: it covers what a unit may change
    event, under a cap for a user or a user's window       times the events one of them may have

Everything else says nothing about the cap, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from ameles.accounting import group
from ameles.accounting.filter import in_currency
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Guarantee, Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.parameters import whole
from ameles.ledger.arguments import check_neighbours, check_unit

_RELATION_FACTORS: dict[tuple[Neighbours, Neighbours], int] = {
    (Neighbours.STEP, Neighbours.ADD_REMOVE): 1,
    (Neighbours.STEP, Neighbours.USER_PRESENCE): 1,
    (Neighbours.STEP, Neighbours.REPLACE): 2,
    (Neighbours.STEP, Neighbours.USER_SUBSTITUTION): 2,
    (Neighbours.ADD_REMOVE, Neighbours.REPLACE): 2,
    (Neighbours.ADD_REMOVE, Neighbours.USER_PRESENCE): 1,  # event by event; the unit counts them
    (Neighbours.ADD_REMOVE, Neighbours.USER_SUBSTITUTION): 2,
    (Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION): 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapTerms:
    """The terms of a population's losses, fixed when its ledger is opened.

    ``contributions`` is the owner's promise of how many events one unit has at the most.
    Without it, a guarantee for single events says nothing about a user.
    """

    unit: Unit
    neighbours: Neighbours
    contributions: int | None

    def __post_init__(self) -> None:
        check_unit(self.unit, "unit")
        check_neighbours(self.neighbours)
        fitting = _relations_of(self.unit)
        if self.neighbours not in fitting:
            raise BadInput(
                f"The relation {self.neighbours.value} does not go with a cap for {self.unit}.",
                why="a cap says what is added or removed: an event, or a user with all events",
                tip=" or ".join(relation.value for relation in fitting),
            )
        if self.contributions is not None:
            whole(self.contributions, "contributions", low=1, high=1 << 40)

    def price(self, guarantee: Guarantee, cap: Loss) -> Loss:
        """What this guarantee costs under a cap on these terms."""
        if guarantee.neighbours not in (Neighbours.STEP, *_relations_of(guarantee.unit)):
            raise BadInput(
                f"A guarantee for {guarantee.unit} cannot be for the relation "
                f"{guarantee.neighbours.value}.",
                why="that relation is about another unit",
            )
        if not any(vars(guarantee.loss).values()):
            raise BadInput(
                "A mechanism that promises no loss at all cannot be bought.",
                why="a mechanism without a loss reveals nothing, or its promise is wrong",
            )
        size = self._relation_factor(guarantee) * self._unit_factor(guarantee)
        return in_currency(group(guarantee.loss, size=size), cap)

    def _relation_factor(self, guarantee: Guarantee) -> int:
        if guarantee.neighbours is self.neighbours:
            return 1
        try:
            return _RELATION_FACTORS[guarantee.neighbours, self.neighbours]
        except KeyError:
            raise BadInput(
                f"A guarantee for the relation {guarantee.neighbours.value} says nothing about a "
                f"cap for {self.neighbours.value}.",
                tip="a population whose ledger was opened for the mechanism's relation",
            ) from None

    def _unit_factor(self, guarantee: Guarantee) -> int:
        if guarantee.unit == self.unit:
            return 1
        if guarantee.unit != EVENT:
            raise BadInput(
                f"A guarantee for {guarantee.unit} says nothing about a cap for {self.unit}.",
                tip="a mechanism whose unit is that of the population",
            )
        if self.contributions is None:
            raise BadInput(
                f"A guarantee for one event says nothing about {self.unit}.",
                why="nobody has declared how many events one of them may have",
                tip="Ledger(..., contributions=20) if that is bounded, or a mechanism for users",
            )
        return self.contributions


def _relations_of(unit: Unit) -> tuple[Neighbours, ...]:
    """The relations in which this unit is what comes, goes or changes."""
    if unit == EVENT:
        return Neighbours.ADD_REMOVE, Neighbours.REPLACE
    return Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION
