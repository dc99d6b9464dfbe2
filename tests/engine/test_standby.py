"""Standing by: it waits only for what ends by itself, says why once, and stops when it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.following import standby
from ameles.engine.following.standby import Standby
from ameles.engine.running.session import Report
from ameles.store import StoreAway, StreamInUse

DONE = Report(launched=False, released=3, new=1, horizon=3)


def played(*acts: Callable[[Standby], Report]) -> tuple[Report | None, list[str]]:
    """Follows again and again, each time with the next act; what it returned and said."""
    said: list[str] = []
    waiting = Standby(threading.Event(), said.append)
    left = iter(acts)
    return waiting.run(lambda: next(left)(waiting)), said


def refused(problem: StoreRefused, *, ran: bool = False) -> Callable[[Standby], Report]:
    def act(waiting: Standby) -> Report:
        if ran:
            waiting.begun()
        raise problem

    return act


def done(waiting: Standby) -> Report:
    waiting.begun()
    return DONE


USED, AWAY = StreamInUse("It is used."), StoreAway("It is away.")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "PATIENCE", 0)


def test_it_says_why_it_waits_once_for_each_reason() -> None:
    assert played(refused(USED), refused(USED), refused(AWAY), refused(USED), done) == (
        DONE,
        ["It is used. Standing by.", "It is away. Standing by.", "It is used. Standing by."],
    )


def test_it_says_so_again_after_it_ran() -> None:
    report, said = played(refused(AWAY, ran=True), refused(AWAY), refused(AWAY, ran=True), done)
    assert report == DONE
    assert said == ["It is away. Standing by."] * 2


def test_any_other_refusal_ends_it() -> None:
    with pytest.raises(StoreRefused, match="It is damaged"):
        played(refused(USED), refused(StoreRefused("It is damaged.")), done)


def test_it_stops_while_it_waits() -> None:
    stop = threading.Event()
    waiting = Standby(stop, lambda said: stop.set())
    assert waiting.run(lambda: refused(USED)(waiting)) is None
