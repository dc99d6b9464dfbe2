"""Windows that begin anew: what they count, and that nothing of one is seen in another."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import user_window
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.renewed import Renewed, RenewedError, RenewedRun
from ameles.mechanisms.continual.transformation import HALTED, Continual
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.snapshot import State
from ameles.noise import Zero
from tests.mechanisms.continual.seizing import worst

TABLE = NoisyDistinct(users=1, epsilon=1, neighbours="user-presence")
# Noise of scale 1 on each answer, in windows of one step; a user's window loses 2.
SMALL = Renewed(inner=Afresh(algorithm=TABLE, epsilon=1, horizon=1, sensitivity=1), horizon=3)
CLAIM, MODULUS = 2, 5
PAIR: tuple[Any, Any] = ([[[]], [[0, 0]], [[]]], [[[]], [[]], [[]]])


def exact(window: int, horizon: int | None = None) -> Renewed:
    inner = Afresh(algorithm=ExactDistinct(users=9), epsilon=1, horizon=window, sensitivity=1)
    return Renewed(inner=inner, horizon=horizon)


def test_every_window_counts_anew() -> None:
    run = exact(3, 7).start(Zero())
    assert run.feed([1, 2, 2, 2, 2, 3, 1]) == [1, 2, 2, 1, 1, 2, 1]
    with pytest.raises(HorizonReached):
        run.release()


def test_after_a_halt_the_next_window_counts() -> None:
    inner = Continual(
        algorithm=ExactDistinct(users=9),
        epsilon=1,
        horizon=2,
        changes=0,
        jump=0,
        sensitivity=1,
        threshold=0,
    )
    assert Renewed(inner=inner).start(Zero()).feed([1, None, None]) == [HALTED, HALTED, 0]


def test_the_promise_is_per_window() -> None:
    promise = exact(3, 7).guarantee
    assert (promise.unit, promise.horizon, promise.loss) == (user_window(3), 7, Pure(1))
    assert exact(3).guarantee.horizon is None
    assert exact(3).error.bound(4, 0.1) == exact(3).inner.error.bound(1, 0.1)
    assert exact(3).error.bound_all(7, 0.3) == exact(3).inner.error.bound_all(3, 0.1)


class Growing:
    """An error that grows by one a step."""

    def bound(self, t: int, beta: float) -> float:
        return t + beta

    def bound_all(self, steps: int, beta: float) -> float:
        return 100 * steps + beta


def test_the_error_is_that_of_the_step_within_its_window() -> None:
    error = RenewedError(Growing(), window=3)
    assert [error.bound(t, 0.5) for t in range(1, 8)] == [1.5, 2.5, 3.5, 1.5, 2.5, 3.5, 1.5]
    # two windows, each with half of what may be missed; one that has not ended has fewer steps
    assert error.bound_all(6, 0.5) == 300.25
    assert error.bound_all(2, 0.5) == 200.5


def test_what_is_not_for_users_is_refused() -> None:
    for inner in (BinaryCounter(epsilon=1, horizon=4), 3, TABLE):
        given: Any = inner
        with pytest.raises(BadInput):
            Renewed(inner=given)


def test_a_window_has_a_length_and_protects_users() -> None:
    endless: Any = SimpleTwoCounter(epsilon=1, unit="user")
    events: Any = SimpleTwoCounter(epsilon=1, horizon=4)
    users: Any = SimpleTwoCounter(epsilon=1, unit="user", horizon=4)
    for inner in (endless, events):
        with pytest.raises(BadInput, match="must protect users over a horizon"):
            Renewed(inner=inner)
    assert Renewed(inner=users).window == 4


def test_a_user_in_one_window_loses_that_window_alone() -> None:
    assert 1 <= worst(SMALL, [PAIR], modulus=MODULUS) <= CLAIM


class _Lasting(RenewedRun):
    """Goes on with the table of the window before."""

    def release(self) -> Any:
        kept = self._inner.snapshot()
        released = super().release()
        inner = self._recipe.inner
        if isinstance(inner, Afresh):
            self._inner = _reopened(inner, kept, self._noise)
        return released


def _reopened(inner: Afresh, kept: bytes, noise: Noise) -> Any:
    run = inner.resume(kept, noise)
    run._t = 0
    return run


class _Lasts(Renewed):
    def _run(self, state: State, noise: Noise) -> RenewedRun:
        return _Lasting(self, replace(state, run=bytes(16)), noise)


def test_a_table_that_goes_on_is_caught() -> None:
    later: tuple[Any, Any] = ([[[0]], [[]], [[]], [[]]], [[[]], [[]], [[]], [[]]])
    inner = Afresh(algorithm=TABLE, epsilon=2, horizon=1, sensitivity=1)
    assert worst(Renewed(inner=inner), [later], modulus=MODULUS) <= 3
    # its bit is seen by every release that follows
    assert worst(_Lasts(inner=inner), [later], modulus=MODULUS) > 3


def test_windows_are_skipped_without_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each step had been closed, from the first step or from any other."""
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    recipe = exact(3, 13)
    started: list[int] = []
    start = Afresh.start

    def counted(inner: Afresh, noise: Noise) -> Any:
        started.append(1)
        return start(inner, noise)

    monkeypatch.setattr(Afresh, "start", counted)
    for taken in range(5):
        for steps in range(14 - taken):
            run, other = recipe.start(Zero()), recipe.start(Zero())
            for one in (run, other):
                one.add([3])
                for _ in range(taken):
                    one.release()
            for _ in range(steps):
                other.release()
            started.clear()
            run.skip(steps)
            assert len(started) <= 2, "the last window's, and the next one's if that has ended"
            assert run.t == other.t
            assert run.snapshot() == other.snapshot()
    with pytest.raises(HorizonReached):
        recipe.start(Zero()).skip(14)


def test_the_state_of_a_window_is_gone_with_its_last_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    run, other = SMALL.start(Zero()), SMALL.start(Zero())
    run.add([0])
    assert run.snapshot() != other.snapshot()
    run.release()
    other.release()
    assert run.snapshot() == other.snapshot()
