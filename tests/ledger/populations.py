"""A population with a cap, and recipes that promise anything at no cost of computing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Unit,
)
from ameles.core.loss import Loss, Pure
from ameles.core.mechanism import Noise
from ameles.ledger import Ledger
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter


def promise(
    loss: Loss,
    *,
    unit: Unit = EVENT,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    intrusions: Intrusions = Intrusions.NONE,
) -> Guarantee:
    """A guarantee with this loss and relation, of one step."""
    return Guarantee(
        loss=loss,
        unit=unit,
        neighbours=neighbours,
        contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
        horizon=1,
        intrusions=intrusions,
    )


@dataclass(frozen=True)
class Promise:
    """A recipe with any guarantee; its runs are counters."""

    guarantee: Guarantee

    def to_json(self) -> str:
        return self.guarantee.to_json()

    def start(self, noise: Noise) -> CounterRun:
        return SimpleTwoCounter(epsilon=1).start(noise)

    def resume(self, snapshot: bytes, noise: Noise) -> CounterRun:
        return SimpleTwoCounter(epsilon=1).resume(snapshot, noise)


def costing(epsilon: Fraction | int | str) -> Promise:
    """A recipe that costs this much."""
    return Promise(promise(Pure(Fraction(epsilon)), intrusions=Intrusions.EVERY))


def population(cap: Loss, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Ledger:
    """The visitors, event by event."""
    return Ledger("visitors", cap=cap, unit=EVENT, neighbours=neighbours)
