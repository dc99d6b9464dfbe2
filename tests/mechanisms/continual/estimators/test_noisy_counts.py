"""How often users occurred, as estimators: answers without noise, the exact loss with a seized
state, and how often an answer can change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Pure
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.estimator import Estimator
from ameles.mechanisms.continual.estimators.noisy_counts import (
    NoisyCropped,
    NoisyHeavy,
    NoisyIncidence,
)
from ameles.mechanisms.continual.estimators.noisy_table import BitsError, NoisyTable
from ameles.mechanisms.continual.monotone import continual_monotone, jumps
from ameles.mechanisms.continual.transformation import Continual
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean, CroppedRun
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.continual.seizing import worst

PRESENCE = Neighbours.USER_PRESENCE
MODULUS = 5
CROPPED = NoisyCropped(users=1, epsilon=1, neighbours=PRESENCE, crop=2)
HEAVY = NoisyHeavy(users=1, epsilon=2, neighbours=PRESENCE, at_least=2)
EXACTLY = NoisyIncidence(users=1, epsilon=2, neighbours=PRESENCE, exactly=1)
# A user twice in a batch, in two batches, in two steps; after one who shares the cell; often.
TWICE: Any = ([[[0, 0]]], [[[]]])
AGAIN: Any = ([[[0], [0]]], [[[], []]])
STEPS: Any = ([[[0]], [[0]]], [[[]], [[]]])
SHARED: Any = ([[[0], [0]]], [[[0], []]])
OFTEN: Any = ([[[0], [0], [0]]], [[[0], [], []]])


def afresh(table: NoisyTable, steps: int) -> Afresh:
    """Answers with noise of scale 1, in units in which a user's bits have their weights."""
    rho = table.sensitivity
    return Afresh(algorithm=table, epsilon=rho * steps, horizon=steps, sensitivity=rho)


@pytest.mark.parametrize(
    ("table", "pairs"),
    [
        (CROPPED, [TWICE, AGAIN, STEPS, SHARED, OFTEN]),
        (HEAVY, [AGAIN, OFTEN]),
        (EXACTLY, [AGAIN, SHARED]),
    ],
    ids=["cropped", "heavy", "exactly"],
)
def test_all_releases_and_the_state_at_every_instant_are_within_the_claim(
    table: NoisyTable, pairs: list[Any]
) -> None:
    for one, other in pairs:
        recipe = afresh(table, len(one))
        lost = worst(recipe, [(one, other)], modulus=MODULUS)
        claim = table.epsilon + len(one) * table.sensitivity
        assert recipe.guarantee.loss == Pure(claim)
        # the state alone loses what it is said to lose, but if somebody shares the cell
        assert (table.epsilon if one is AGAIN else Fraction(1, 2)) <= lost <= claim


def test_through_the_transformation_it_is_within_the_claim() -> None:
    recipe = Continual(
        algorithm=CROPPED,
        epsilon=4,
        horizon=2,
        changes=1,
        jump=1,
        sensitivity=1,
        threshold=1,
    )
    assert recipe.guarantee.loss == Pure(11)
    assert 1 <= worst(recipe, [([[[0, 0]], [[]]], [[[]], [[]]])], modulus=3) <= 11


# Broken versions, each caught by the exact loss ---------------------------------------------


class _Started(CroppedRun):
    """Its clocks start at 0: they tell how often somebody came."""

    def open(self) -> None:
        super().open()
        for clock in self._clocks:
            clock[:] = 0


class _Kept(CroppedRun):
    """Keeps a bit that is set."""

    def _fold(self, users: IntArray, sign: int) -> None:
        before = self._bits[0].copy()
        super()._fold(users, sign)
        self._bits[0][:] |= before


class _Stopped(CroppedRun):
    """A clock stands still before it would come round: it tells who came often."""

    def _fold(self, users: IntArray, sign: int) -> None:
        later = self._clocks[0] + len(users)
        super()._fold(users, sign)
        self._clocks[0][:] = np.minimum(later, 1)


@dataclass(frozen=True, kw_only=True)
class _StartedTable(CroppedMean):
    def _empty_run(self, state: State, noise: Any) -> CroppedRun:
        return _Started(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class _KeptTable(CroppedMean):
    def _empty_run(self, state: State, noise: Any) -> CroppedRun:
        return _Kept(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class _StoppedTable(CroppedMean):
    def _empty_run(self, state: State, noise: Any) -> CroppedRun:
        return _Stopped(self, state, noise)


@pytest.mark.parametrize("kind", [_StartedTable, _KeptTable, _StoppedTable])
def test_a_broken_table_is_caught(kind: Any) -> None:
    class Broken(NoisyCropped):
        @property
        def table(self) -> CroppedMean:
            own = super().table
            made: CroppedMean = kind(**{name: getattr(own, name) for name in _FIELDS})
            return made

    broken = afresh(Broken(users=1, epsilon=1, neighbours=PRESENCE, crop=2), 1)
    often: Any = ([[[0], [0], [0], [0]]], [[[], [], [], []]])
    assert worst(afresh(CROPPED, 1), [often], modulus=MODULUS) <= 2
    assert worst(broken, [often], modulus=MODULUS) > 2


_FIELDS = ("users", "neighbours", "epsilon_state", "epsilon_output", "crop")


def test_an_epsilon_that_is_not_divided_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # a state of two crops claims 2, and would lose 4
    assert worst(afresh(HEAVY, 1), [AGAIN], modulus=MODULUS) < 3
    monkeypatch.setattr(type(HEAVY.table), "share", property(lambda self: self.seizure_loss))
    assert worst(afresh(HEAVY, 1), [AGAIN], modulus=MODULUS) >= 4


def test_noise_for_one_bit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # a user's bits move the answer by 3: noise for 1 is not enough
    honest = Afresh(algorithm=HEAVY, epsilon=3, horizon=1, sensitivity=3)
    with pytest.raises(BadInput, match=r"'sensitivity' .* at least the algorithm's own, 3"):
        replace(honest, sensitivity=1)
    monkeypatch.setattr(type(HEAVY), "sensitivity", 1)
    scarce = replace(honest, sensitivity=1)
    assert scarce.scale * 3 == honest.scale
    assert worst(honest, [AGAIN], modulus=9) <= 5 < worst(scarce, [AGAIN], modulus=9)


# Answers ------------------------------------------------------------------------------------


def test_without_noise_the_answer_is_that_of_the_clocks() -> None:
    # Without noise all clocks start at 0, and a bit is set once its clock has come round.
    counts = np.array([0, 1, 2, 3, 5])
    users = np.repeat(np.arange(5), counts)

    def answer(table: NoisyTable) -> int:
        run = table.start(Zero())
        run.add(users)
        return run.answer()

    def at(crop: int) -> int:
        return int((counts >= crop).sum())

    parts: dict[str, Any] = {"users": 5, "epsilon": 1, "neighbours": PRESENCE}
    assert answer(NoisyCropped(crop=3, **parts)) == at(3) - 2
    assert answer(NoisyHeavy(at_least=3, **parts)) == 3 * at(3) - 2 * at(2) - 2
    assert answer(NoisyIncidence(exactly=2, **parts)) == 4 * at(2) - at(1) - 3 * at(3)
    assert answer(NoisyIncidence(exactly=1, **parts)) == 2 * at(1) - 2 * at(2)


@pytest.mark.parametrize(
    ("table", "truth"),
    [
        (NoisyCropped(users=4000, epsilon=2, neighbours=PRESENCE, crop=4), 1000 * (1 + 2 + 4) / 4),
        (NoisyHeavy(users=4000, epsilon=2, neighbours=PRESENCE, at_least=2), 2000),
        (NoisyIncidence(users=4000, epsilon=3, neighbours=PRESENCE, exactly=2), 1000),
    ],
    ids=["cropped", "heavy", "exactly"],
)
def test_answers_are_as_close_to_the_truth_as_they_say(table: NoisyTable, truth: float) -> None:
    # 1,000 users each with 0, 1, 2 and 5 events; one answer each, false alarm 1e-9
    users = np.repeat(np.arange(4000), np.repeat([0, 1, 2, 5], 1000))
    run = table.start(System.direct())
    run.add(users)
    assert abs(run.answer() - table.gamma * truth) <= table.answer_error.bound(1, 1e-9)


def test_the_promise() -> None:
    promise = afresh(HEAVY, 2).guarantee
    assert promise.intrusions is Intrusions.ONE
    assert promise.neighbours is PRESENCE
    moved = replace(HEAVY, neighbours=Neighbours.USER_SUBSTITUTION)
    assert (HEAVY.sensitivity, moved.sensitivity) == (3, 6)
    assert EXACTLY.sensitivity == 4
    assert CROPPED.sensitivity == 1
    assert isinstance(HEAVY, Estimator)
    with pytest.raises(BadInput, match=r"System\.direct"):
        HEAVY.start(System())
    with pytest.raises(BadInput, match="beta"):
        BitsError(4, (1,), 0).bound(1, 0.0)
    assert BitsError(4, (1,), 1).bound_all(10, 0.1) == BitsError(4, (1,), 1).bound(1, 0.01)
    # half of an odd number of fair bits is no whole number
    assert replace(HEAVY, users=3).answer_error == BitsError(3, (2, -1), 1)
    assert replace(HEAVY, users=4).answer_error == BitsError(4, (2, -1), 0)
    assert replace(EXACTLY, users=3).answer_error == BitsError(3, EXACTLY.weights, 0)


# How often an answer changes ------------------------------------------------------------------


def moves(path: list[int], above: int) -> int:
    """How often a published number must be renewed to stay this close to a path from 0."""
    last, count = 0, 0
    for value in path:
        if abs(value - last) > above:
            last, count = value, count + 1
    return count


def waves(users: int, size: int) -> list[int]:
    """So many users with exactly one event, who come and come again in groups."""
    wave = [*range(1, size + 1), *range(size - 1, -1, -1)]
    return wave * (users // size)


def test_users_with_an_exact_count_change_twice_each() -> None:
    users, rise = 60, 4
    most, _ = jumps(highest=2 * users, rise=rise, alpha=0)
    for size in (5, 6, 10, 30, 60):
        path = waves(users, size)
        assert sum(abs(b - a) for a, b in pairwise([0, *path])) == 2 * users
        assert moves(path, rise) <= most
    # as many as a quantity that only rises may have is not enough
    once, _ = jumps(highest=users, rise=rise, alpha=0)
    assert moves(waves(users, 5), rise) == 24 > once


def test_the_transformation_is_told_of_both() -> None:
    terms: dict[str, Any] = {"highest": 1000, "horizon": 64, "epsilon": 2, "sensitivity": 4}
    table = NoisyIncidence(users=1000, epsilon=1, neighbours=PRESENCE, exactly=1)
    twice = continual_monotone(table, crossings=table.crossings, **terms)
    assert twice == continual_monotone(table, **{**terms, "highest": 2000})
    assert twice.changes > continual_monotone(table, **terms).changes
    assert (table.crossings, HEAVY.crossings, CROPPED.crossings) == (2, 1, 1)
    with pytest.raises(BadInput, match="crossings"):
        continual_monotone(table, crossings=0, **terms)
