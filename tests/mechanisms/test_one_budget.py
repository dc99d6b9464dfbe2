"""Two threads cannot spend one budget, or one turn, twice.

No test waits for a time.  A lock that is looked at tells when somebody waits for it, and the first
thread goes on only when the second one waits, or is where it must not be.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, BudgetExceeded, RunSpent
from ameles.mechanisms.learning import OnlineClassifier, online_classifier
from ameles.mechanisms.learning.online_classifier import classifier_counter
from ameles.mechanisms.local import RandomizedResponse, oracle, statistical_query
from ameles.mechanisms.local.oracle import LocalUser
from ameles.mechanisms.local.statistical_query import CentralQueries, LocalQueries
from ameles.noise import Zero

COINS = RandomizedResponse(categories=2, odds=3).table
LONG = 60.0  # seconds after which a test that hangs fails


class Meeting:
    """Holds the first thread at a place until the second is there too, or waits for a lock."""

    def __init__(self) -> None:
        self.arrived = 0
        self.second = threading.Event()
        self.inside = threading.Event()

    def place(self) -> None:
        """Called by the code under test, between looking at the budget and spending it."""
        self.arrived += 1
        if self.arrived > 1:
            self.second.set()
        self.inside.set()
        assert self.second.wait(LONG)

    def lock(self) -> Watched:
        return Watched(self)


class Watched:
    """A lock that tells when somebody is about to wait for it."""

    def __init__(self, meeting: Meeting) -> None:
        self._meeting, self._lock = meeting, threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._meeting.second.set()
            assert self._lock.acquire(timeout=LONG)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch, module: Any) -> Iterator[Meeting]:
    """Locks that the module makes meanwhile belong to the meeting."""
    meeting = Meeting()
    with monkeypatch.context() as patch:
        patch.setattr(module, "Lock", meeting.lock, raising=False)
        yield meeting


def both(meeting: Meeting, call: Callable[[], object]) -> list[object]:
    """What two threads get that call at the same time."""
    found: list[object] = []

    def one() -> None:
        try:
            found.append(call())
        except AmelesError as refusal:
            found.append(refusal)

    threads = [threading.Thread(target=one) for _ in range(2)]
    threads[0].start()
    assert meeting.inside.wait(LONG)
    threads[1].start()
    for thread in threads:
        thread.join(LONG)
    assert len(found) == 2
    return found


class Cap(Fraction):
    """A cap that lets the second thread look before the first has spent."""

    meeting: Meeting

    def __lt__(self, other: Any) -> bool:
        self.meeting.place()
        return bool(Fraction(self) < other)


def test_a_user_s_budget_is_spent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(monkeypatch, oracle) as meeting:
        cap = Cap(COINS.epsilon)
        cap.meeting = meeting
        user = LocalUser(1, cap, Zero())
        found = both(meeting, lambda: user.respond(COINS))
    assert [isinstance(one, BudgetExceeded) for one in found].count(True) == 1
    assert user.spent == COINS.epsilon


class Crowd(list[int]):
    """Examples of which there are so many, once both threads have looked."""

    meeting: Meeting

    def __len__(self) -> int:
        if threading.current_thread() is not threading.main_thread():
            self.meeting.place()
        return super().__len__()


def test_each_user_answers_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(monkeypatch, statistical_query) as meeting:
        users = Crowd([1, 0, 1])
        users.meeting = meeting
        asked = LocalQueries(users, epsilon=1, group=2, noise=Zero())
        found = both(meeting, lambda: asked(lambda one: one))
    assert [isinstance(one, BudgetExceeded) for one in found].count(True) == 1
    assert asked.answered == 2


class Last(int):
    """The number of queries, which lets the second thread look before the first has counted."""

    meeting: Meeting

    def __eq__(self, other: object) -> bool:
        self.meeting.place()
        return int(self) == other

    __hash__ = int.__hash__


def test_a_query_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(monkeypatch, statistical_query) as meeting:
        asked = CentralQueries([1, 0], epsilon=1, queries=1, noise=Zero())
        last = Last(1)
        last.meeting = meeting
        asked._queries = last
        found = both(meeting, lambda: asked(lambda one: one))
    assert [isinstance(one, BudgetExceeded) for one in found].count(True) == 1


class Used(dict[str, int]):
    """How often users were used, where both threads look before one of them counts."""

    meeting: Meeting

    def get(self, user: Any, default: Any = None) -> Any:
        times = super().get(user, default)
        self.meeting.place()
        return times


def test_a_user_of_a_classifier_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(monkeypatch, online_classifier) as meeting:
        counter = classifier_counter(epsilon=1, delta="1e-6", features=1, steps=9, unit="user")
        model = OnlineClassifier(counter.start(Zero()), rate=2)
        assert model._limit is not None
        model._limit.used = used = Used()
        used.meeting = meeting
        found = both(meeting, lambda: model.partial_fit([[0.5]], [True], users=["ann"]))
    assert found == [model, model]
    assert model._limit.used == {"ann": 1}
    assert model._taken == model._run.t == 2


class Forking(Zero):
    """Forks while it draws."""

    child: int | None = None

    def uniform(self, n: int, size: Any) -> Any:
        self.child = os.fork()
        return np.zeros(size, dtype=np.int64)


def test_a_child_that_is_forked_within_an_answer_gives_none() -> None:
    noise = Forking()
    user = LocalUser(1, Fraction(2), noise)
    try:
        answer: object = user.respond(COINS)
    except RunSpent:
        answer = None
    if noise.child == 0:
        os._exit(0 if answer is None else 1)
    assert noise.child is not None
    assert os.waitstatus_to_exitcode(os.waitpid(noise.child, 0)[1]) == 0
    assert answer is not None
