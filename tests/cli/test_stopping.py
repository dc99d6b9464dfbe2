"""``stopping``: the first signal asks, the second ends the program with its own number."""

from __future__ import annotations

import signal
import subprocess

import pytest

from ameles.cli.stop_signals import INTERRUPTED
from tests.cli.conftest import hearing_interrupts
from tests.warm_processes import start

# The main thread is inside a library that lets nothing of Python's run, as one that waits for a
# lock of the store: a lock of threads that is never free.
PROGRAM = """
import threading
from ameles.cli.stop_signals import stopping

never = threading.Lock()
never.acquire()
with stopping() as stop:
    def tell():
        print("ready", flush=True)
        stop.wait()
        print("heard", flush=True)
    threading.Thread(target=tell, daemon=True).start()
    never.acquire()
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_it_with_its_own_number(
    first: signal.Signals, second: signal.Signals
) -> None:
    process = start("-c", PROGRAM, stdout=subprocess.PIPE, preexec_fn=hearing_interrupts)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == "heard\n", "and it goes on"
        process.send_signal(second)
        assert process.wait() == INTERRUPTED + second
