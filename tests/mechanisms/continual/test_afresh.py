"""An estimator asked afresh: the truth without noise, the exact loss with a seized state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.accounting.conversion import to_approx
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.afresh import Afresh, AfreshRun
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.density import Density, DensityRun
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.continual.scripted import Scripted
from tests.mechanisms.continual.seizing import worst
from tests.pooled_noise import Pooled

# In base 2: a bit of the present is 0 with probability 1/4, answers have noise of scale 1.
TABLE = NoisyDistinct(users=2, epsilon=1, neighbours="user-presence")
SMALL = Afresh(algorithm=TABLE, epsilon=2, horizon=2, sensitivity=1)
CLAIM, MODULUS = 3, 5
# One user in cell 0, twice in a batch, in two batches, in both steps; another shares the cell.
PAIRS: list[tuple[Any, Any]] = [
    ([[[0, 0]], [[]]], [[[]], [[]]]),
    ([[[0], [0]], [[]]], [[[], []], [[]]]),
    ([[[0]], [[0]]], [[[]], [[]]]),
    ([[[]], [[0, 1]]], [[[]], [[1]]]),
    ([[[0]], [[0]]], [[[]], [[0]]]),
]


def test_without_noise_it_is_the_truth() -> None:
    run = Afresh(algorithm=ExactDistinct(users=9), epsilon=1, horizon=4, sensitivity=1).start(
        Zero()
    )
    run.add(np.array([1, 1, 2]))
    assert run.release() == 2
    assert run.feed([2, 5]) == [2, 3]
    run.step(None)
    for late in (run.step, run.add, lambda _: run.release()):
        with pytest.raises(HorizonReached):
            late(None)
    assert run.t == 4


def test_all_releases_and_the_state_at_every_instant_are_within_the_claim() -> None:
    lost = worst(SMALL, PAIRS, modulus=MODULUS)
    assert 1 < lost <= CLAIM  # the state alone loses 1


def test_the_promise() -> None:
    promise = SMALL.guarantee
    assert promise.loss == Pure(3)
    assert promise.intrusions is Intrusions.ONE
    assert promise.neighbours is Neighbours.USER_PRESENCE
    secret = Afresh(algorithm=ExactDistinct(users=9), epsilon=1, horizon=4, sensitivity=1)
    assert secret.guarantee.loss == Pure(1)
    assert secret.guarantee.intrusions is Intrusions.NONE
    with pytest.raises(BadInput, match=r"System\.direct"):
        SMALL.start(System())


# Broken versions, each caught by the exact loss ---------------------------------------------


class Thrifty(Afresh):
    """Noise for one answer, not for all of them."""

    @property
    def scale(self) -> Fraction:
        return Fraction(1, 4)


class Remembering(AfreshRun):
    """Keeps its last exact answer where it can be seized."""

    def __init__(self, recipe: Afresh, state: State, noise: Noise) -> None:
        super().__init__(recipe, replace(state, parts=state.parts[:2]), noise)
        self._last = int(state.parts[2][0]) if state.parts else 0

    def release(self) -> int:
        self._last = self._inner.answer()
        return super().release()

    def _parts(self) -> tuple[IntArray, ...]:
        return *super()._parts(), np.array([self._last], dtype=np.int64)


class _Remembers(Afresh):
    def _run(self, state: State, noise: Noise) -> AfreshRun:
        return Remembering(self, replace(state, run=bytes(16)), noise)


class _OrRun(DensityRun):
    """Keeps a bit that is set: who came often is more likely to have one."""

    def _fold(self, users: IntArray, sign: int) -> None:
        before = self._tables[0][users].copy()
        super()._fold(users, sign)
        self._tables[0][users] |= before


@dataclass(frozen=True, kw_only=True)
class _OrTable(Density):
    def _empty_run(self, state: State, noise: Noise) -> DensityRun:
        return _OrRun(self, state, noise)


class _Ored(NoisyDistinct):
    @property
    def table(self) -> Density:
        return _OrTable(
            users=self.users,
            neighbours=self.neighbours,
            epsilon_state=self.epsilon,
            epsilon_output=self.epsilon,
        )


def test_too_little_noise_is_caught() -> None:
    broken = Thrifty(algorithm=TABLE, epsilon=2, horizon=2, sensitivity=1)
    assert worst(broken, PAIRS, modulus=MODULUS) > CLAIM


def test_bits_that_are_ored_are_caught() -> None:
    often: tuple[Any, Any] = ([[[0], [0], [0], [0]]], [[[], [], [], []]])
    clean = Afresh(algorithm=TABLE, epsilon=1, horizon=1, sensitivity=1)
    broken = replace(clean, algorithm=_Ored(users=2, epsilon=1, neighbours="user-presence"))
    assert worst(clean, [often], modulus=MODULUS) <= 2
    assert worst(broken, [often], modulus=MODULUS) > 2


def test_a_remembered_answer_is_caught() -> None:
    broken = _Remembers(algorithm=TABLE, epsilon=2, horizon=2, sensitivity=1)
    assert worst(broken, PAIRS, modulus=MODULUS) > CLAIM


def test_with_a_delta_all_answers_are_one_gaussian_vector() -> None:
    recipe = replace(SMALL, horizon=100, sensitivity=3, delta="1e-6")
    assert recipe.guarantee.loss == Approx(3, "1e-6")
    # an independent bound: zCDP of T answers that are each 3 apart, turned into (2, delta)
    assert recipe.variance is not None
    rho = Fraction(100 * 9, 2) / recipe.variance
    spent = to_approx(Concentrated(rho), delta="1e-6")
    assert Fraction("1.999") < spent.epsilon <= 2
    tape = Tape()
    recipe.start(tape).release()
    assert tape.draws[-1].scale == recipe.variance
    # a hundred times the steps, ten times the deviation
    longer = replace(recipe, horizon=10_000)
    assert float(longer.variance or 0) == pytest.approx(100 * float(recipe.variance), rel=1e-6)


# Errors ---------------------------------------------------------------------------------------


def test_the_bound_holds_as_often_as_it_says() -> None:
    # 2,000 answers; false alarm 1e-6
    recipe = Afresh(algorithm=Scripted(answers=(7,) * 4), epsilon=1, horizon=4, sensitivity=3)
    bound, noise = recipe.error.bound(1, 0.2), Pooled()
    wrong = sum(
        abs(value - 7) > bound for _ in range(500) for value in recipe.start(noise).feed([None] * 4)
    )
    # half of what may be missed is the algorithm's, which misses nothing here
    assert binom.ppf(1e-6, 2000, 0.08) <= wrong <= binom.isf(1e-6, 2000, 0.1)
    assert recipe.error.bound_all(4, 0.2) >= recipe.error.bound(1, 0.05)


def test_the_gaussian_bound_holds_as_often_as_it_says() -> None:
    # 2,000 answers; false alarm 1e-6
    scripted = Scripted(answers=(7,) * 4)
    recipe = Afresh(algorithm=scripted, epsilon=1, horizon=4, sensitivity=3, delta="1e-3")
    bound, noise = recipe.error.bound(1, 0.2), Pooled()
    wrong = sum(
        abs(value - 7) > bound for _ in range(500) for value in recipe.start(noise).feed([None] * 4)
    )
    assert binom.ppf(1e-6, 2000, 0.08) <= wrong <= binom.isf(1e-6, 2000, 0.1)


def test_what_cannot_be_is_refused() -> None:
    good: dict[str, Any] = {"epsilon": 1, "horizon": 4, "sensitivity": 1}
    residues = ModularIncidence(
        users=9, modulus=2, neighbours="user-presence", epsilon_state=1, epsilon_output=1
    )
    for algorithm, match in (
        (3, "an estimator"),
        (SimpleTwoCounter(epsilon=1), "an estimator"),  # a recipe, and no estimator
        (residues, "Counts modulo"),
        (_Gaussian(answers=(0,)), "pure"),
        (_Short(answers=(0,)), "algorithm's own"),
    ):
        given: Any = algorithm
        with pytest.raises(BadInput, match=match):
            Afresh(algorithm=given, **good)
    with pytest.raises(BadInput, match="64 bits"):
        Afresh(algorithm=TABLE, epsilon="1e-9", horizon=2**40, sensitivity=1)


class _Gaussian(Scripted):
    @property
    def state_guarantee(self) -> Any:
        return replace(super().state_guarantee, loss=Concentrated(1))


class _Short(Scripted):
    @property
    def state_guarantee(self) -> Any:
        return replace(super().state_guarantee, horizon=2)
