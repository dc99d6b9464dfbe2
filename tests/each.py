"""Many small cases in one test: all of them run, and every one that fails is named.

A test of its own for each costs more than most of these cases take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from inspect import Signature, signature
from typing import Any

Name = str | Callable[[], str]


def each(cases: Iterable[tuple[Name, Callable[..., object], tuple[Any, ...]]]) -> None:
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
            failed.append(name if isinstance(name, str) else name())
            problem.add_note(f"in the case: {failed[-1]}")
            problems.append(problem)
    if problems:
        what = f"{len(failed)} of {count} cases fail: {'; '.join(failed)}"
        raise ExceptionGroup(what, problems)


Test = Callable[..., None]


def together(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """What ``pytest.mark.parametrize`` does, in one test: for cases whose names nobody looks up."""
    given = (names,) if isinstance(names, str) else names
    cases = [(value,) if isinstance(names, str) else tuple(value) for value in values]

    def decorate(test: Test) -> Test:
        @wraps(test)
        def every(**others: Any) -> None:
            named = [dict(zip(given, case, strict=True)) for case in cases]
            each((partial(_name, one), partial(test, **others, **one), ()) for one in named)

        rest = [one for one in signature(test).parameters.values() if one.name not in given]
        vars(every)["__signature__"] = Signature(rest)
        return every

    return decorate


def _name(case: dict[str, Any]) -> str:
    """The values of a case; some cannot be printed, which is what their test is about."""
    try:
        return ", ".join(f"{name} {value!r}" for name, value in case.items())
    except Exception:
        return ", ".join(f"{name} of type {type(value).__name__}" for name, value in case.items())
