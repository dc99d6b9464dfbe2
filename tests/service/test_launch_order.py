"""First launches, one after another: nobody jumps the queue, and nobody blocks it for ever."""

from __future__ import annotations

import threading

import pytest

from ameles.service import launch_order
from ameles.service.launch_order import LaunchOrder

NEVER = threading.Event()


def waiting(order: LaunchOrder, name: str, stop: threading.Event = NEVER) -> threading.Thread:
    """A thread that waits for its turn, and remembers in its name whether it got one."""

    def wait() -> None:
        threading.current_thread().name = f"{name} {order.wait(name, stop)}"

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_turns_come_one_after_another() -> None:
    order = LaunchOrder(["a", "b", "c"], clock=lambda: 0.0)
    assert order.wait("a", NEVER)
    second, third = waiting(order, "b"), waiting(order, "c")
    second.join(0.05)
    assert second.is_alive()
    order.done("a")
    second.join(600)
    assert second.name == "b True"
    third.join(0.05)
    assert third.is_alive()
    order.done("b")
    third.join(600)
    assert third.name == "c True"
    order.done("c")
    assert order.wait("a", NEVER), "an attempt after the first waits for nobody"


def test_a_stream_that_needs_no_turn_is_left_out() -> None:
    order = LaunchOrder(["a", "b", "c"])
    order.done("b")
    order.done("b")
    order.done("a")
    assert order.wait("c", NEVER)


def test_a_turn_that_lasts_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(launch_order, "LONGEST_TURN", 0.01)
    order = LaunchOrder(["hangs", "a", "b"], clock=lambda: now[0])
    first, second = waiting(order, "a"), waiting(order, "b")
    first.join(0.1)
    assert first.is_alive()
    now[0] = 0.01
    first.join(600)
    assert first.name == "a True"
    second.join(0.1)
    assert second.is_alive(), "the next one has a whole turn of its own"
    now[0] = 1.0
    second.join(600)
    assert second.name == "b True"
    order.done("hangs")  # late


def test_who_is_to_stop_gets_no_turn() -> None:
    order, stop = LaunchOrder(["a", "b"]), threading.Event()
    thread = waiting(order, "b", stop)
    stop.set()
    order.wake()
    thread.join(600)
    assert thread.name == "b False"
    assert order.wait("a", stop), "its turn had come before"
