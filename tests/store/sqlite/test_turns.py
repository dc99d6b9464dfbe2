"""Turns of writers: in the order in which they asked, refused in time, never lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import open_store
from ameles.store.sqlite.turns import Turns

LIMIT = 600.0


def until(happened: Callable[[], bool]) -> None:
    for _ in range(1_000_000):
        if happened():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it did not happen")


def test_turns_come_in_the_order_of_asking() -> None:
    turns, order = Turns(), list[int]()
    assert turns.take(0)

    def wait(number: int) -> None:
        assert turns.take(LIMIT)
        order.append(number)
        turns.give_back()

    def waits(count: int) -> bool:
        return len(turns._waiting) == count

    threads = [threading.Thread(target=wait, args=(number,), daemon=True) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        until(partial(waits, number + 1))
    turns.give_back()
    for _ in range(100):  # whoever had a turn does not get the next one while others wait
        assert turns.take(LIMIT)
        turns.give_back()
    for thread in threads:
        thread.join(LIMIT)
    assert order == [0, 1, 2, 3, 4]
    assert turns.take(0)


def test_who_stops_to_wait_is_given_nothing() -> None:
    turns = Turns()
    assert turns.take(0)
    assert not turns.take(0.001)
    turns.give_back()
    assert turns.take(0), "it is free, though somebody waited"


class Interrupted:
    """A lock whose second acquisition is interrupted, after the turn was given or before."""

    def __init__(self, turns: Turns, *, given: bool) -> None:
        self._turns = turns
        self._given = given
        self._acquired = False

    def acquire(self, timeout: float = -1) -> bool:
        if self._acquired:
            if self._given:
                self._turns.give_back()
            raise KeyboardInterrupt
        self._acquired = True
        return True

    def release(self) -> None:
        pass


@pytest.mark.parametrize("given", [True, False])
def test_a_signal_leaves_no_turn_behind(monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    turns = Turns()
    assert turns.take(0)
    with monkeypatch.context() as patched:
        patched.setattr(threading, "Lock", lambda: Interrupted(turns, given=given))
        with pytest.raises(KeyboardInterrupt):
            turns.take(LIMIT)
    if not given:
        turns.give_back()
    assert turns.take(0)


def test_a_thread_that_never_ends_its_transaction_is_waited_for_in_vain(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db"), patience=0.01) as store:
        with store.writing():
            with pytest.raises(StoreRefused, match="is locked") as caught, store.writing():
                pass
            assert "this process" in caught.value.why
            with store.reading() as transaction:
                assert transaction.streams() == ()
        with store.writing():
            pass
        with pytest.raises(ValueError, match="own"), store.writing():
            raise ValueError("own")
        with store.writing():
            pass
