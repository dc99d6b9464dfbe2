"""Stopping: Ctrl-C or SIGTERM asks a program to end, and a second one ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HEARD = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 128  # and the number of the signal: the exit code that shells know


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first signal sets.

    A thread hears the signals, since the main one may be inside a library that waits for a lock
    and lets nothing of Python's run.
    """
    # Those that are ignored stay so: a shell may have started this in the background.
    heard = [number for number in HEARD if signal.getsignal(number) != signal.SIG_IGN]
    stop = threading.Event()
    read, write = os.pipe()
    os.set_blocking(write, False)

    def listen() -> None:
        while said := os.read(read, 1):
            if stop.is_set() and said[0] in heard:
                os._exit(INTERRUPTED + said[0])
            if said[0] in heard:
                stop.set()

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    before = {number: signal.signal(number, lambda number, frame: None) for number in heard}
    known = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(known)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(write)
        listening.join()
        os.close(read)
