"""Work that no signal disturbs: a thread of its own does it.

Python runs the handlers of signals in the main thread alone, between any two of its instructions,
also within a function that a C library calls back.  There an exception is printed and lost, and the
library goes on without what the function was to do.  In another thread nothing of that happens: a
handler that raises an exception ends the waiting for the work, and the work goes on to its end.

>>> undisturbed(lambda: 6 * 7)
42
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

NAME = "ameles-undisturbed"  # of the thread

Result = TypeVar("Result")


def undisturbed(work: Callable[[], Result]) -> Result:
    """The result of some work, or its exception."""
    main = threading.main_thread()
    # at the end of a program no thread can be started any more
    if threading.current_thread() is not main or not main.is_alive():
        return work()
    outcome: Future[Result] = Future()

    def do() -> None:
        try:
            outcome.set_result(work())
        except BaseException as problem:
            outcome.set_exception(problem)

    threading.Thread(target=do, name=NAME).start()
    return outcome.result()
