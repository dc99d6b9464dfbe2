"""Measures which blocks each test reaches, and how long it takes; kept until its file changes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.children import Task, in_parallel, tested
from tests.mutation.hook import REACHED, first
from tests.mutation.packages import TREE, imports, mirrors, words_of

LIMIT = 1200.0  # seconds for one file
QUICK = 0.0  # of a test that was not measured: new ones go first
UNKNOWN = 5.0  # seconds that a file may take that was not measured
_CASE = re.compile(r'<testcase classname="([^"]*)" name="([^"]*)" time="([^"]*)"')
_OTHER_STORE = "postgres"  # tests of the engine and the commands are run with files alone


class Noting:
    """A plugin of pytest: notes for each test that passes what it reaches, and its time."""

    def __init__(self) -> None:
        self.reached_by: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        first()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        again = [item for item in items if on_other_store(item.nodeid)]
        items[:] = [item for item in items if item not in again]
        config.hook.pytest_deselected(items=again)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        from tests.mutation.reached import reached

        reached()
        result = yield
        self.reached_by[item.nodeid] = reached()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def on_other_store(test: str) -> bool:
    """Whether a test runs a second time, on Postgres."""
    return test.startswith(("tests/engine", "tests/cli")) and _OTHER_STORE in test


@dataclass
class Reach:
    """For each test, what it reaches and how many seconds it takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    by_block: dict[str, set[str]] = field(default_factory=dict)
    by_place: dict[str, set[str]] = field(default_factory=dict)
    by_module: dict[str, set[str]] = field(default_factory=dict)

    def add(self, noted: dict[str, Any]) -> None:
        """What was noted of one file."""
        names = noted["names"]
        for test, (seconds, numbers) in noted["tests"].items():
            self.seconds[test] = seconds
            for number in numbers:
                name = names[number]
                self.by_block.setdefault(name, set()).add(test)
                self.by_place.setdefault(name.partition("#")[0], set()).add(test)
                self.by_module.setdefault(name.partition(":")[0], set()).add(test)


def reach(kept: Path, files: list[str], count: int, say: Callable[[str], None]) -> Reach:
    """What the tests of all files reach; those that are new or changed are run first."""
    kept.mkdir(parents=True, exist_ok=True)
    missing = [file for file in files if _noted(kept, file) is None]
    left = len(missing)

    def done(file: str, code: int) -> None:
        nonlocal left
        left -= 1
        words = _place(kept, file).with_suffix(".words")
        said = "" if code in (0, 5) else f" (ended with {code}: {words})"
        say(f"measured {file}, {left} left{said}")

    work = (Task(partial(_measure, kept, file), LIMIT, partial(done, file)) for file in missing)
    in_parallel(deque(work), count)
    whole = Reach()
    for file in files:
        noted = _noted(kept, file)
        if noted is not None:
            whole.add(noted)
    return whole


def by_name(
    files: list[str], modules: set[str], others: list[str], known: dict[str, float]
) -> Reach:
    """The tests of whole files: of those with the name of the module or with an import of it, and
    of others.  Those whose seconds are known are named; the name of the file stands for the rest.
    """
    reach = Reach()
    listed: dict[str, set[str]] = {}
    for test in known:
        listed.setdefault(test.partition("::")[0], set()).add(test)
    for module in modules:
        named = {file for file in files if mirrors(file, module) or imports(file, module)}
        reach.by_module[module] = set()
        for file in named | set(others):
            reach.by_module[module] |= {*listed.get(file, ()), *_unlisted(file, listed)}
    for test in set().union(*reach.by_module.values()):
        reach.seconds[test] = known.get(test, QUICK if "::" in test else UNKNOWN)
    return reach


def _unlisted(file: str, listed: dict[str, set[str]]) -> set[str]:
    """Tests of a file of which nothing is known: the file itself, if nothing is of any."""
    if not listed or file.startswith("src"):
        return set() if file in listed else {file}
    old = {test.rpartition("::")[2].partition("[")[0] for test in listed.get(file, ())}
    return {
        f"{file}::{name}" for name in words_of(file) if name.startswith("test") and name not in old
    }


def seconds_of(report: Path) -> dict[str, float]:
    """How long each test took, as ``./run test --junitxml report`` has noted it."""
    seconds_by_test: dict[str, float] = {}
    for place, name, seconds in _CASE.findall(report.read_text(encoding="utf-8")):
        parts, classes = place.split("."), list[str]()
        while parts and not (TREE / "/".join(parts)).with_suffix(".py").is_file():
            classes.insert(0, parts.pop())
        if parts:
            seconds_by_test["::".join(["/".join(parts) + ".py", *classes, unescape(name)])] = float(
                seconds
            )
    return {test: seconds for test, seconds in seconds_by_test.items() if not on_other_store(test)}


def _measure(kept: Path, file: str) -> int:
    plugin = Noting()
    told = _place(kept, file).with_suffix(".told")
    told.unlink(missing_ok=True)
    words = _place(kept, file).with_suffix(".words")
    code = tested([file], plugin, words, {REACHED: str(told)})
    if told.exists():
        for line in told.read_text(encoding="utf-8").splitlines():
            test, names = json.loads(line)
            plugin.reached_by.setdefault(test, []).extend(names)
        told.unlink()
    sound = {
        test: sorted(set(names))
        for test, names in plugin.reached_by.items()
        if test in plugin.seconds and test not in plugin.failed
    }
    _write(kept, file, sound, plugin.seconds)
    return code


def _write(
    kept: Path, file: str, reached_by: dict[str, list[str]], seconds: dict[str, float]
) -> None:
    names = sorted({name for some in reached_by.values() for name in some})
    number = {name: place for place, name in enumerate(names)}
    tests = {
        test: [round(seconds[test], 4), [number[name] for name in some]]
        for test, some in reached_by.items()
    }
    place = _place(kept, file)
    new = place.with_suffix(f".{os.getpid()}")
    new.write_text(
        json.dumps({"digest": digest(file), "names": names, "tests": tests}), encoding="utf-8"
    )
    new.replace(place)


def _noted(kept: Path, file: str) -> dict[str, Any] | None:
    try:
        noted: dict[str, Any] = json.loads(_place(kept, file).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return noted if noted["digest"] == digest(file) else None


def _place(kept: Path, file: str) -> Path:
    return kept / (file.replace("/", ".") + ".json")


def digest(file: str) -> str:
    """Of the tests in a file; of a module, the examples alone would do, and it is whole."""
    return hashlib.sha256((TREE / file).read_bytes()).hexdigest()[:16]
