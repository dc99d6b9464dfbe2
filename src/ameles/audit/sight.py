"""What leaves the sight of an audit: other processes, sockets, databases, files that are written.

A forked child has a copy of the inputs, and whatever it does with them is in no view.  Python names
such calls to audit hooks, and ours refuses them while an audit runs the code of a mechanism.  Calls
of compiled code that tell Python nothing are not noticed, and neither are threads.

>>> with in_sight() as left:
...     open("/tmp/never-written", "w")
Traceback (most recent call last):
ameles.audit.sight.Left: open
>>> left
['open']
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_EVENTS = frozenset(
    {
        *("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"),
        *("os.startfile", "subprocess.Popen", "pty.spawn", "ctypes.dlopen"),
        *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "sqlite3.connect"),
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Left(BaseException):
    """Code left the sight of the audit; no ``except Exception`` of that code hides it."""


class _Here(threading.local):
    left: list[str] | None = None


_here = _Here()


@contextmanager
def in_sight() -> Iterator[list[str]]:
    """Refuses such calls of this thread; gives the list of those that were tried."""
    _watch()
    before = _here.left
    left: list[str] = []
    _here.left = left
    try:
        yield left
    finally:
        _here.left = before


def aside(call: Callable[[], None]) -> Callable[[], None]:
    """A call of the audit's own caller, which may do anything."""

    def called() -> None:
        before, _here.left = _here.left, None
        try:
            call()
        finally:
            _here.left = before

    return called


@cache
def _watch() -> None:
    """Adds the hook; a process cannot remove one."""
    sys.addaudithook(_hook)


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if _here.left is None:
        return
    if event in _EVENTS or (event == "open" and _writes(*given) and not _importing()):
        _here.left.append(event)
        raise Left(event)


def _writes(path: object, mode: str | None, flags: int) -> bool:
    return bool(flags & _WRITING) or any(letter in (mode or "") for letter in "wax+")


def _importing() -> bool:
    """Whether Python itself is storing the code of a module that is imported."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap_external":
            return True
        frame = frame.f_back
    return False
