"""Work that no signal disturbs: it is done to its end, and no signal and no handler is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from ameles.noise.undisturbed import NAME, undisturbed


class Heard(Exception):
    """What the handler of the signal raises."""


def raise_heard(number: int, frame: FrameType | None) -> None:
    raise Heard


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, raise_heard)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_raises_ends_the_waiting_and_not_the_work() -> None:
    done = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(20):
            time.sleep(0.001)  # the main thread runs the handler meanwhile
        done.set()

    with pytest.raises(Heard):
        undisturbed(work)
    assert done.wait(600)
    assert signal.getsignal(signal.SIGUSR1) is raise_heard


def test_handlers_stay_in_place_and_run_while_the_work_is_done() -> None:
    heard = threading.Event()
    signal.signal(signal.SIGUSR1, lambda number, frame: heard.set())

    def work() -> bool:
        os.kill(os.getpid(), signal.SIGUSR1)
        return heard.wait(600)

    assert undisturbed(work)


def test_signals_one_after_the_other_disturb_nothing() -> None:
    heard = 0

    def count(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1

    def work() -> threading.Thread:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.0002)
        os.kill(os.getpid(), signal.SIGUSR1)  # while its end is waited for
        return threading.current_thread()

    signal.signal(signal.SIGUSR1, count)
    threads = [undisturbed(work) for _ in range(200)]
    assert {thread.name for thread in threads} == {NAME}
    assert heard >= 200  # two that come together are one


def fail() -> None:
    raise ValueError("mine")


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="mine"):
        undisturbed(fail)


def test_other_threads_do_their_work_themselves() -> None:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(undisturbed(threading.get_ident)))
    thread.start()
    thread.join()
    assert seen == [thread.ident]
    assert undisturbed(threading.get_ident) != threading.get_ident()


AT_THE_END = """
import atexit
from ameles.noise.undisturbed import undisturbed
atexit.register(lambda: print(undisturbed(lambda: 42)))
"""


def test_at_the_end_of_a_program_the_work_is_done_without_a_thread() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("42\n", "")
