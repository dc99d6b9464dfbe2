"""Collecting the tests quickly: each core does it before its first test, while nothing else runs.

- Doctests are looked for only in files that have some.  Otherwise pytest imports every module of
  the package and of the tests, and asks each of their functions for its docstring.
- The garbage collector waits until all tests are there: almost everything that is made stays.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

PROMPT = b">>>"

gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Without the doctests of a file that has none."""
    collectors = yield
    if file_path.suffix != ".py" or PROMPT in file_path.read_bytes():
        return collectors
    return [one for one in collectors if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look at it, now or later."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Tests begin, also in a process that collects none and hands them out to others."""
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """At the end it looks at everything again; otherwise DuckDB complains of what is left over.

    Where forks have run the tests, nothing is left over here.
    """
    if not session.config.pluginmanager.has_plugin("forking"):
        gc.unfreeze()
