"""Signals that wait: no handler runs while work is done that must not be interrupted.

Python runs the handlers of signals in the main thread, between any two of its instructions, also
within a function that a C library calls back.  There an exception is printed and lost, and the
library goes on without what the function was to do.  Other threads run no handlers.

>>> heard = []
>>> before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
>>> with deferred():
...     signal.raise_signal(signal.SIGINT)
...     print(len(heard))
0
>>> len(heard)
1
>>> _ = signal.signal(signal.SIGINT, before)
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

Handler: TypeAlias = Callable[[int, FrameType | None], object]


@contextmanager
def deferred() -> Iterator[None]:
    """Handlers of signals that arrive within the block are called at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, Handler] = {}
    heard: dict[int, FrameType | None] = {}
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, heard.setdefault)  # one of a kind waits, as in the kernel
        yield
    finally:
        try:
            _restore(handlers)
        finally:
            _pass_on(heard, handlers)


def _restore(handlers: Mapping[int, Handler]) -> None:
    """Puts all handlers back, also if one of them is called meanwhile, and raises an exception."""
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    except BaseException:
        _restore(handlers)
        raise


def _pass_on(heard: dict[int, FrameType | None], handlers: Mapping[int, Handler]) -> None:
    """Calls the handlers of signals that have waited, each of them even if another raises.

    The signals are not sent again: whoever watches them through ``signal.set_wakeup_fd`` knows of
    them, and would take them for others.
    """
    if heard:
        number = next(iter(heard))
        frame = heard.pop(number)
        try:
            handlers[number](number, frame)
        finally:
            _pass_on(heard, handlers)
