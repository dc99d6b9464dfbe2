"""Stopping: Ctrl-C or SIGTERM asks a program to end, and a second one ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HEARD = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 128  # plus the number of the signal: the exit code that shells expect


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first signal sets.

    A separate thread handles the signals: the main thread may be inside a library call that waits
    for a lock, and Python runs no signal handler until the call returns.
    """
    # Ignored signals stay ignored: a shell may have started this in the background.
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
