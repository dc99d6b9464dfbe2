"""The base of mechanisms: toys of every kind that the design lists fit it as they are.

A step is a look at a data set, a query, a person's own answer or a batch of a learner.  Each toy
has its parameters, its promise, its error and its run; all the rest is the base's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached, StoreRefused
from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Horizon, Whole
from ameles.core.recipe import recipe_from_json
from ameles.ledger import Ledger
from ameles.mechanisms import mechanism
from ameles.mechanisms.catalogue import mechanism_from_json
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter, WalkError
from ameles.mechanisms.mechanism import Mechanism, Startable
from ameles.mechanisms.snapshot import State, unpack
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray


def promise(
    epsilon: Fraction, neighbours: Neighbours, horizon: int | None, intrusions: Intrusions
) -> Guarantee:
    return Guarantee(
        loss=Pure(epsilon),
        unit=EVENT,
        neighbours=neighbours,
        contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
        horizon=horizon,
        intrusions=intrusions,
    )


class Memoryless(SteppedRun[Any, Any]):
    """A run that keeps nothing but how many steps it took."""

    def __init__(self, recipe: Mechanism[Any], state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._noise = noise

    def _parts(self) -> tuple[IntArray, ...]:
        return ()

    def _checked(self, x: Any) -> Any:
        return x

    def _step(self, x: Any) -> Any:
        self._t += 1
        return self._given(x)

    def _given(self, x: Any) -> Any:
        raise NotImplementedError


# One-shot: one step, on a data set.


@dataclass(frozen=True, kw_only=True)
class Rows(Mechanism["RowsRun"]):
    """How many rows a table has."""

    epsilon: Epsilon = Epsilon()

    @property
    def guarantee(self) -> Guarantee:
        return promise(self.epsilon, Neighbours.ADD_REMOVE, 1, Intrusions.NONE)

    @property
    def error(self) -> WalkError:
        return WalkError(1 / self.epsilon)

    def _run(self, state: State, noise: Noise) -> RowsRun:
        return RowsRun(self, state, noise)


class RowsRun(Memoryless):
    def _given(self, x: Sequence[object]) -> int:
        return len(x) + int(self._noise.laplace(Fraction(1), 1)[0])


# Interactive: a step for each query, on answers that the query layer computed.


@dataclass(frozen=True, kw_only=True)
class Answers(Rows):
    """Noisy answers to so many queries."""

    epsilon: Epsilon = Epsilon()
    queries: Whole = Whole(1, 1000)

    @property
    def guarantee(self) -> Guarantee:
        return promise(self.epsilon, Neighbours.ADD_REMOVE, self.queries, Intrusions.NONE)

    def _run(self, state: State, noise: Noise) -> AnswersRun:
        return AnswersRun(self, state, noise)


class AnswersRun(RowsRun):
    def _given(self, x: Any) -> int:
        return int(x) + int(self._noise.laplace(Fraction(1), 1)[0])


# Local: the run is a person's own, and what it gives is seen by everybody.


@dataclass(frozen=True, kw_only=True)
class Response(Rows):
    """A true or a false answer, at random."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    def guarantee(self) -> Guarantee:
        return promise(self.epsilon, Neighbours.REPLACE, self.horizon, Intrusions.EVERY)

    def _run(self, state: State, noise: Noise) -> ResponseRun:
        return ResponseRun(self, state, noise)


class ResponseRun(RowsRun):
    def _given(self, x: Any) -> bool:
        return bool(x) ^ bool(self._noise.bernoulli_exp(Fraction(1), 1)[0])


# Learning: a step for each batch, whose clipped gradients are whole numbers of a grid.


@dataclass(frozen=True, kw_only=True)
class Gradients(Rows):
    """Sums of gradients, one batch after another."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
    size: Whole = Whole(1, 1000)

    @property
    def guarantee(self) -> Guarantee:
        return promise(self.epsilon, Neighbours.ADD_REMOVE, self.horizon, Intrusions.NONE)

    def _run(self, state: State, noise: Noise) -> GradientsRun:
        return GradientsRun(self, state, noise)


class GradientsRun(RowsRun):
    def _given(self, x: Any) -> Any:
        drawn = self._noise.laplace(Fraction(1), len(x[0]))
        return (np.sum(x, axis=0) + drawn) / 1024


TOYS: list[tuple[Mechanism[Any], Any, Any]] = [
    (Rows(epsilon=1), ["a", "b", "c"], 3),
    (Answers(epsilon=1, queries=3), 17, 17),
    (Response(epsilon=1, horizon=3), 1, True),
    (Gradients(epsilon=1, horizon=3, size=2), [[1024, 0], [512, 256]], [1.5, 0.25]),
]
NAMES = [type(recipe).__name__ for recipe, *_ in TOYS]


@pytest.mark.parametrize(("recipe", "given", "truth"), TOYS, ids=NAMES)
def test_every_kind_is_bought_stepped_and_resumed(
    recipe: Mechanism[Any], given: Any, truth: Any
) -> None:
    promised = recipe.guarantee
    ledger = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=promised.neighbours, noise=Zero())
    run = ledger.start(recipe, on="table", why="a test")
    assert ledger.left == Pure(0)
    assert recipe_from_json(recipe.to_json(), {type(recipe).__name__: type(recipe)}) == recipe
    assert np.array_equal(run.step(given), truth)
    again = ledger.resume(recipe, run.snapshot())
    assert (again.id, again.t) == (run.id, 1)
    assert repr(again) == f"<run of {type(recipe).__name__} at step 1>"
    again.feed([given] * ((recipe.steps or 1) - 1))
    with pytest.raises(HorizonReached, match="1 more does not fit"):
        again.step(given)


def test_a_state_that_may_be_seized_needs_noise_that_forgets() -> None:
    response, rows = Response(epsilon=1, horizon=3), Rows(epsilon=1)
    assert response.seizable
    assert not rows.seizable
    with pytest.raises(BadInput, match="Response must draw straight from the operating system"):
        response.start(System())
    snapshot = response.start(System.direct()).snapshot()
    with pytest.raises(BadInput, match="straight from the operating system"):
        response.resume(snapshot, System())
    assert rows.start(System()).t == 0


@pytest.mark.parametrize("noise", [Zero, 3, None])
def test_what_is_no_noise_is_refused(noise: Any) -> None:
    rows = Rows(epsilon=1)
    for ask in (rows.start, lambda given: rows.resume(b"", given)):
        with pytest.raises(BadInput, match="A run draws from a source of noise"):
            ask(noise)


def test_parts_of_a_state_that_may_be_seized_are_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[State] = []

    def noted(snapshot: bytes, fingerprint: bytes) -> State:
        read.append(unpack(snapshot, fingerprint))
        return read[-1]

    monkeypatch.setattr(mechanism, "unpack", noted)
    for recipe in (SimpleTwoCounter(epsilon=1), Secret(epsilon=1)):
        run = recipe.start(System.direct())
        run.step(8_675_309)
        assert recipe.resume(run.snapshot(), System.direct()).t == 1
    seized, kept = read
    assert not any(part.any() for part in seized.parts)
    assert all(part.any() for part in kept.parts)


@dataclass(frozen=True, kw_only=True)
class Secret(SimpleTwoCounter):
    """The same counter, whose state nobody may see."""

    @property
    def intrusions(self) -> Intrusions:
        return Intrusions.NONE


def test_a_snapshot_of_another_recipe_is_refused() -> None:
    snapshot = Rows(epsilon=1).start(Zero()).snapshot()
    with pytest.raises(StoreRefused, match="another recipe"):
        Rows(epsilon=2).resume(snapshot, Zero())


def test_only_mechanisms_are_read_as_such() -> None:
    counter, users = SimpleTwoCounter(epsilon=1), ExactDistinct(users=3)
    assert mechanism_from_json(counter.to_json()) == counter
    assert isinstance(users, Startable)
    assert not isinstance(users, Mechanism)
    with pytest.raises(StoreRefused, match="not a recipe of a mechanism"):
        mechanism_from_json(users.to_json())
