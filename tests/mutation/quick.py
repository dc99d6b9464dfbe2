"""The quick way: Ameles and its tests are loaded once, and each change is tried in a fork of that.

In the fork the functions that are changed get their new code.  What runs while a module is loaded,
such as a constant, is not in any function: such a change is tried in the thorough way (``trials``).
So is any change with ``--thorough``: processes that tests start load the file, and what was kept
while the tests were loaded was made by the code before the change.
"""

from __future__ import annotations

import gc
import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.mutation.changes import Change
from tests.mutation.children import Task, in_parallel, tested
from tests.mutation.measured import on_other_store
from tests.mutation.packages import file_of
from tests.mutation.reached import COMPILED

FEW = 3  # tests, or files of them, that must pass before anything is changed
_IN_A_FUNCTION = 0x1  # CO_OPTIMIZED
Codes = dict[tuple[str, int], CodeType]
Asked = tuple[Change, list[str], float]  # a change, its tests in order, and their seconds
Settle = Callable[[Change, int], None]


def try_quickly(asked: list[Asked], count: int, settle: Settle, scratch: Path) -> None:
    """Tries changes in forks of one child; ``settle`` gets their exit codes there."""
    files = sorted({test.partition("::")[0] for _, tests, _ in asked for test in tests})
    plugin = _Trying(asked, count, settle, scratch)
    place = {"HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis")}
    work = partial(tested, files, plugin, scratch / "quick words", place)
    in_parallel(deque([Task(work, math.inf, lambda code: None)]), 1)


class _Trying:
    """A plugin of pytest that runs the tests of each change in a fork."""

    def __init__(self, asked: list[Asked], count: int, settle: Settle, scratch: Path) -> None:
        self._asked = asked
        self._count = count
        self._settle = settle
        self._scratch = scratch

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True  # something cannot be loaded: the thorough way says what
        (_, tests, seconds), codes = self._asked[0], list[int]()
        in_parallel(
            deque([Task(partial(self._try, session, None, tests[:FEW]), seconds, codes.append)]), 1
        )
        if codes != [0]:
            return True  # they fail without any change
        tasks = deque(
            Task(partial(self._try, session, change, tests), seconds, partial(self._settle, change))
            for change, tests, seconds in self._asked
            if swap(change, sure=False)
        )
        in_parallel(tasks, self._count)
        return True

    def _try(self, session: pytest.Session, change: Change | None, tests: list[str]) -> int:
        mine = self._scratch / str(os.getpid())
        mine.mkdir()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(mine)
        if change is not None:
            swap(change)
        module = "" if change is None else change.module
        order = {test: place for place, test in enumerate(tests)}
        places = {item: placed(item.nodeid, order, module) for item in session.items}
        chosen = [item for item, place in places.items() if place is not None]
        chosen.sort(key=lambda item: places[item] or 0)
        for item, following in pairwise([*chosen, None]):
            if item is not None:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return 1
        return 0


def placed(test: str, order: dict[str, int], module: str) -> int | None:
    """The place of a test in an order, by its own name, without parameters, or by that of its file.

    None for a test that is run again on Postgres, where the changed module is not about that.
    """
    if on_other_store(test) or ("[postgres" in test and "postgres" not in module):
        return None
    names = (test, test.partition("[")[0], test.partition("::")[0])
    return next((order[name] for name in names if name in order), None)


def swap(change: Change, *, sure: bool = True) -> bool:
    """Whether the changed functions can get their new code; if ``sure``, they do."""
    if change.module in COMPILED:
        return False
    file = file_of(change.module)
    text = file.read_text(encoding="utf-8")
    codes = changed_codes(text, change.apply(text), str(file))
    if not codes:
        return False
    gc.unfreeze()  # the tests freeze what was collected, and frozen objects are not listed
    live = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__module__ == change.module
        and _known_as(function.__code__) in codes
    ]
    if {_known_as(function.__code__) for function in live} != codes.keys():
        return False
    for function in live if sure else ():
        function.__code__ = codes[_known_as(function.__code__)]
    return True


def changed_codes(before: str, after: str, file: str) -> Codes:
    """The functions whose code differs, with what is inside them; none where more than that does.

    >>> sorted(changed_codes("def f():\\n    return 1\\n", "def f():\\n    return 2\\n", "m.py"))
    [('f', 1)]
    >>> changed_codes("def f(a=1):\\n    return a\\n", "def f(a=2):\\n    return a\\n", "m.py")
    {}
    """
    compiled = [compile(text, file, "exec", dont_inherit=True) for text in (before, after)]
    try:
        return dict(_differing(*compiled))
    except ValueError:
        return {}


def _differing(old: CodeType, new: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    if old.co_flags & _IN_A_FUNCTION:
        if _plain(old) != _plain(new):
            yield _known_as(old), new
        return
    if _plain(old, inner=False) != _plain(new, inner=False):
        raise ValueError("what is loaded is changed")
    inner = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    for one, other in zip(*inner, strict=True):
        yield from _differing(one, other)


def _plain(code: CodeType, *, inner: bool = True) -> CodeType:
    """What it does, without the columns in which it is written."""
    consts = (
        (_plain(each) if inner else None) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    return code.replace(co_consts=tuple(consts), co_linetable=b"")


def _known_as(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno
