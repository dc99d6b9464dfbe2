"""Signals that wait: they are handled after the block, each of them, and handlers come back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from ameles.noise.deferred_signals import Handler, deferred


class Usr1(Exception):
    """What the handler of one signal raises."""


class Usr2(Exception):
    """What the handler of another one raises."""


def raise_usr1(number: int, frame: FrameType | None) -> None:
    raise Usr1


def raise_usr2(number: int, frame: FrameType | None) -> None:
    raise Usr2


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Handlers that raise, for two signals and for an interruption."""
    given = {
        signal.SIGUSR1: raise_usr1,
        signal.SIGUSR2: raise_usr2,
        signal.SIGINT: signal.default_int_handler,
    }
    before = {number: signal.signal(number, handler) for number, handler in given.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def undisturbed(*numbers: int, then: Callable[[], object] = lambda: None) -> None:
    """Sends signals, and does some work, within a block."""
    with deferred():
        for number in numbers:
            signal.raise_signal(number)
        then()


def test_a_signal_is_handled_after_the_block() -> None:
    done: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        undisturbed(signal.SIGINT, then=lambda: done.append(True))
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGUSR1) is raise_usr1


def test_every_signal_is_handled_even_if_the_handler_of_another_raises() -> None:
    with pytest.raises(Usr2) as last:
        undisturbed(signal.SIGUSR1, signal.SIGUSR2)
    assert isinstance(last.value.__context__, Usr1)


def test_one_signal_of_a_kind_waits() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    undisturbed(*[signal.SIGUSR1] * 2000)
    assert heard == [signal.SIGUSR1]


def fail() -> None:
    raise ValueError("mine")


def test_what_the_block_raises_is_not_lost() -> None:
    with pytest.raises(ValueError, match="mine"):
        undisturbed(then=fail)
    with pytest.raises(Usr1) as raised:
        undisturbed(signal.SIGUSR1, then=fail)
    assert isinstance(raised.value.__context__, ValueError)


def test_blocks_can_be_nested() -> None:
    done: list[bool] = []

    def work() -> None:
        undisturbed(signal.SIGUSR1)
        done.append(True)

    with pytest.raises(Usr1):
        undisturbed(then=work)
    assert done
    assert signal.getsignal(signal.SIGUSR1) is raise_usr1


def test_a_signal_while_handlers_come_back_keeps_none_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = signal.signal
    sent: list[int] = []

    def interrupted(number: int, handler: Handler) -> object:
        found = real(number, handler)
        if handler is raise_usr1 and not sent:  # just after it has come back
            sent.append(number)
            signal.raise_signal(number)
        return found

    with pytest.raises(Usr2) as last:
        undisturbed(signal.SIGUSR2, then=lambda: monkeypatch.setattr(signal, "signal", interrupted))
    assert sent
    assert isinstance(last.value.__context__, Usr1)
    assert signal.getsignal(signal.SIGUSR2) is raise_usr2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_that_are_ignored_stay_so_and_other_threads_change_nothing() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    with deferred():
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGUSR2) is not raise_usr2
    seen = []

    def work() -> None:
        with deferred():
            seen.append(signal.getsignal(signal.SIGUSR2))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [raise_usr2]
