"""Work on many counters at once, shared by as many threads as the process has cores.

The threads start and end within one call: a process that forks later has none of them, and nothing
is left that a forked child could share with its parent.  Compiled loops, numpy and nothing else run
at the same time, as Python's lock is free only there; more than a few threads would wait for it.

>>> done = []
>>> share(lambda start, end: done.append((start, end)), 10)
>>> done
[(0, 10)]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Thread

# Starting a thread takes as long as the noise of some ten thousand numbers.
LEAST = 1 << 15
MOST = 4


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS does not tell


def share(work: Callable[[int, int], object], size: int) -> None:
    """Calls ``work(start, end)`` for parts that make up ``range(size)``, and returns when all are
    done; parts may run at the same time.  What any of them raises is raised."""
    count = min(size // LEAST, MOST)
    count = min(count, cores()) if count > 1 else 1
    first, *others = pairwise(size * i // count for i in range(count + 1))
    problems: list[BaseException] = []

    def attempt(start: int, end: int) -> None:
        try:
            work(start, end)
        except BaseException as problem:
            problems.append(problem)

    threads: list[Thread] = []
    try:
        for part in others:
            thread = Thread(target=attempt, args=part)
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # there may be no more of them
                attempt(*part)
        work(*first)
    finally:
        _wait(threads)
    if problems:
        raise problems[0]


def _wait(threads: Sequence[Thread]) -> None:
    """Returns when no thread writes any more, also if a signal interrupts the waiting."""
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        _wait(threads)
        raise
