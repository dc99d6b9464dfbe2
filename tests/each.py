"""Many small cases in one test: all of them run, and every one that fails is named.

A test of its own for each costs more than most of these cases take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def each(cases: Iterable[tuple[str, Callable[..., object], tuple[Any, ...]]]) -> None:
    """Makes these calls, each with its name; raises what all of them raised, together.

    >>> each([("a half", divmod, (1, 2)), ("nothing", divmod, (1, 0)), ("no number", int, ("x",))])
    Traceback (most recent call last):
    ExceptionGroup: 2 of 3 cases fail: nothing; no number (2 sub-exceptions)
    """
    count, failed = 0, []
    problems = []
    for name, call, given in cases:
        count += 1
        try:
            call(*given)
        except Exception as problem:
            problem.add_note(f"in the case: {name}")
            problems.append(problem)
            failed.append(name)
    if problems:
        what = f"{len(failed)} of {count} cases fail: {'; '.join(failed)}"
        raise ExceptionGroup(what, problems)
