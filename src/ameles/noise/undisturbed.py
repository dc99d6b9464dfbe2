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
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def undisturbed(work: Callable[[], Result]) -> Result:
    """The result of some work, or its exception."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    thread = ThreadPoolExecutor(max_workers=1)
    try:
        doing = thread.submit(work)
    except RuntimeError:  # the interpreter is about to end, and starts no more threads
        return work()
    finally:
        thread.shutdown(wait=False)
    return doing.result()
