"""A population with a cap, and recipes that promise anything at no cost of computing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import Error
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
from ameles.core.noise import Noise
from ameles.ledger import Ledger
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State

COUNTER = SimpleTwoCounter(epsilon=1)


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
class Promise(Mechanism[CounterRun]):
    """A recipe with any guarantee; its runs are counters."""

    promised: Guarantee

    @property
    def guarantee(self) -> Guarantee:
        return self.promised

    @property
    def error(self) -> Error:
        return COUNTER.error

    @property
    def state_fingerprint(self) -> bytes:
        return COUNTER.fingerprint

    def to_json(self) -> str:
        return self.guarantee.to_json()

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return COUNTER._run(state, noise)


def costing(epsilon: Fraction | int | str) -> Promise:
    """A recipe that costs this much."""
    return Promise(promise(Pure(Fraction(epsilon)), intrusions=Intrusions.EVERY))


def population(cap: Loss, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Ledger:
    """The visitors, event by event."""
    return Ledger("visitors", cap=cap, unit=EVENT, neighbours=neighbours)
