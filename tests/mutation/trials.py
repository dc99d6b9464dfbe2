"""One change at a time under the tests that reach it, the quickest first, until one fails."""

from __future__ import annotations

import json
import os
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.changes import Change
from tests.mutation.children import HUNG, Task, in_parallel, tested
from tests.mutation.hook import MUTANT, first
from tests.mutation.measured import Reach, digest
from tests.mutation.packages import file_of, mentions, mirrors
from tests.mutation.quick import FEW, placed, try_quickly
from tests.mutation.reached import COMPILED, block_of

FIRST = 4.0  # seconds of tests that are tried before the others are even loaded
PATIENCE = 60.0  # seconds that anything may take, beside its tests
DOUBT = 3.0  # a test that is not about a change must be so much quicker, to be tried before
SLOWER = 20.0  # times that tests may take longer than when they were measured


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change: whether a test failed, and after how many."""

    key: str
    code: str  # the function as it was
    tests: str  # the files with its tests, as they were
    killed: bool
    how: str


class Unsound(Exception):
    """Tests fail without any change, so they would notice everything."""


class Chosen:
    """A plugin of pytest: some tests, in this order."""

    def __init__(self, tests: list[str], module: str) -> None:
        self._order = {test: place for place, test in enumerate(tests)}
        self._module = module

    def pytest_sessionstart(self) -> None:
        first()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        places = {item: placed(item.nodeid, self._order, self._module) for item in items}
        others = [item for item, place in places.items() if place is None]
        mine = [item for item, place in places.items() if place is not None]
        items[:] = sorted(mine, key=lambda item: places[item] or 0)
        config.hook.pytest_deselected(items=others)


class Trials:
    """The tests of some packages, and what is known of changes that were tried before."""

    def __init__(self, kept: Path, reach: Reach, *, seconds: float, thorough: bool = False) -> None:
        self._kept = kept
        self._reach = reach
        self._seconds = seconds
        self._all_thorough = thorough
        self._known = self._read()

    def known(self, change: Change) -> Outcome | None:
        """What became of a change, if neither it nor its tests have changed since."""
        outcome = self._known.get(change.key)
        if outcome is None or outcome.code != change.code:
            return None
        if not outcome.killed and outcome.tests != self._digest(self.tests(change)):
            return None
        return outcome

    def tests(self, change: Change) -> list[str]:
        """The tests that reach a change, the most promising first, as many as there is time for."""
        seconds = self._reach.seconds
        order = sorted(
            self._reaching(change), key=lambda test: (seconds[test] * _doubt(test, change), test)
        )
        chosen: list[str] = []
        sum_of_seconds = 0.0
        for test in order:
            sum_of_seconds += seconds[test]
            if chosen and sum_of_seconds > self._seconds:
                break
            chosen.append(test)
        return chosen

    def _reaching(self, change: Change) -> set[str]:
        reach, module = self._reach, change.module
        text = file_of(module).read_text(encoding="utf-8")
        block = block_of(module, text, change.line)
        if module in COMPILED:
            return {test for test in reach.seconds if mirrors(test, module)}
        if not change.place or not block:
            return reach.by_module.get(module, set())
        return (
            reach.by_block.get(block)
            or reach.by_place.get(block.partition("#")[0])
            or reach.by_module.get(module, set())
        )

    def run(
        self, changes: list[Change], count: int, told: Callable[[Change, Outcome], None]
    ) -> None:
        """Tries all of them, so many at a time: those for which the quick way will do in that."""
        with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
            left = (
                changes if self._all_thorough else self._quick(changes, count, told, Path(scratch))
            )
            reached = [change for change in left if self.tests(change)]
            if reached and not self.sound(reached[0]):
                raise Unsound(f"Tests of {reached[0].module} fail without any change.")
            self._thorough(left, count, told, Path(scratch))

    def _quick(
        self,
        changes: list[Change],
        count: int,
        told: Callable[[Change, Outcome], None],
        place: Path,
    ) -> list[Change]:
        """Tries what can be tried in this way; what is left."""
        asked = [(change, self.tests(change)) for change in changes]

        def settle(change: Change, code: int) -> None:
            how = {0: f"passed {len(self.tests(change))} tests", HUNG: "hung"}
            self._settle(change, how.get(code, "a test failed"), told, killed=code != 0)

        if any(tests for _, tests in asked):
            limits = [(change, tests, self._limit(tests)) for change, tests in asked if tests]
            try_quickly(limits, count, settle, place)
        before, self._known = self._known, self._read()
        return [
            change for change in changes if self._known.get(change.key) == before.get(change.key)
        ]

    def _thorough(
        self,
        changes: list[Change],
        count: int,
        told: Callable[[Change, Outcome], None],
        place: Path,
    ) -> None:
        """The first tests of each change and, if they pass, the others."""
        tasks: deque[Task] = deque()

        def done(change: Change, rest: list[str], many: int, code: int) -> None:
            if code == HUNG:
                self._settle(change, "hung", told, killed=True)
            elif code not in (0, 5):
                how = "a test failed" if code == 1 else f"ended with {code}"
                self._settle(change, how, told, killed=True)
            elif rest:
                then = partial(done, change, [], many)
                tasks.appendleft(self._task(change, rest, place, then))
            else:
                self._settle(change, f"passed {many} tests", told, killed=False)

        for change in changes:
            first, rest = self._divided(self.tests(change))
            if first:
                then = partial(done, change, rest, len(first) + len(rest))
                tasks.append(self._task(change, first, place, then))
            else:
                self._settle(change, "no test reaches it", told, killed=False)
        in_parallel(tasks, count)

    def _settle(
        self, change: Change, how: str, told: Callable[[Change, Outcome], None], *, killed: bool
    ) -> None:
        tests = self._digest(self.tests(change))
        outcome = Outcome(change.key, change.code, tests, killed, how)
        self._keep(outcome)
        told(change, outcome)

    def sound(self, change: Change) -> bool:
        """Whether the first tests that reach a change pass without it, as they must."""
        same, codes = replace(change, after=change.before), list[int]()
        with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
            tests = self.tests(same)[:FEW]
            in_parallel(deque([self._task(same, tests, Path(scratch), codes.append)]), 1)
        return codes == [0]

    def _divided(self, tests: list[str]) -> tuple[list[str], list[str]]:
        cut, spent = 0, 0.0
        while cut < len(tests) and spent < FIRST:
            spent += self._reach.seconds[tests[cut]]
            cut += 1
        return tests[:cut], tests[cut:]

    def _task(
        self, change: Change, tests: list[str], scratch: Path, done: Callable[[int], Any]
    ) -> Task:
        return Task(partial(_try, change, tests, scratch), self._limit(tests), done)

    def _limit(self, tests: list[str]) -> float:
        return PATIENCE + SLOWER * sum(self._reach.seconds[test] for test in tests)

    def _digest(self, tests: list[str]) -> str:
        files = sorted({test.partition("::")[0] for test in tests})
        return " ".join(digest(file)[:6] for file in files)

    def _read(self) -> dict[str, Outcome]:
        if not self._kept.exists():
            return {}
        lines = self._kept.read_text(encoding="utf-8").splitlines()
        outcomes = [Outcome(**json.loads(line)) for line in lines]
        return {outcome.key: outcome for outcome in outcomes}

    def _keep(self, outcome: Outcome) -> None:
        self._known[outcome.key] = outcome
        with self._kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")


def _doubt(test: str, change: Change) -> float:
    """Less for tests that are about the changed module, and for those that name the function."""
    if "::" not in test:
        return DOUBT  # the rest of a file
    return (1 if mirrors(test, change.module) else DOUBT) * (
        1 if mentions(test, change.place) else DOUBT
    )


def _try(change: Change, tests: list[str], scratch: Path) -> int:
    mine = scratch / str(os.getpid())
    mine.mkdir()
    changed = mine / "changed.py"
    changed.write_text(
        change.apply(file_of(change.module).read_text(encoding="utf-8")), encoding="utf-8"
    )
    environment = {
        MUTANT: f"{change.module}={changed}",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(mine / "hypothesis"),
    }
    if change.module in COMPILED:  # what numba keeps is known by the file, and that is the same
        environment["NUMBA_CACHE_DIR"] = str(mine / "numba")
    files = sorted({test.partition("::")[0] for test in tests})
    arguments = ["-x", "--basetemp", str(mine / "tests"), *files]
    return tested(arguments, Chosen(tests, change.module), mine / "words", environment)
