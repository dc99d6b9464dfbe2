"""``./run test --quick``: the tests that one runs often, without those that take long.

A test is quick unless it needs a server or the victims of the fault laboratory, or is listed in
``slow.txt``: the functions all of whose cases together took 0.06 seconds or more, when the whole
suite was last measured, on two cores.  Of each second a quick run so gets the most functions: a
function that is left out has many cases or slow ones, and another one finds more in its time.
``./run test --measure`` writes that list anew.

The list cannot go stale in silence.  Each quick run ends with what has to be done about it: names
that are no longer there, and tests that took long and are not listed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

SLOW_TESTS = Path(__file__).with_name("slow.txt")
SLOW = 0.06  # seconds that all cases of a function take, where the suite was measured
TOLD = 1.0  # seconds after which a quick run says that a function should be listed
TEST = re.compile(r"^(?:async )?def (test\w*)\(", re.MULTILINE)
EXPENSIVE = frozenset({"kafka", "postgres", "victims"})  # fixtures that start servers


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options, beside pytest's own."""
    group = parser.getgroup("ameles")
    group.addoption("--quick", action="store_true", help="leave out the tests that take long")
    group.addoption("--measure", action="store_true", help=f"write {SLOW_TESTS.name} anew")


def pytest_configure(config: pytest.Config) -> None:
    """Every process leaves out the same.  Only one listens: the one that has all reports."""
    if config.getoption("--quick"):
        config.pluginmanager.register(Choosing(config.rootpath), "choosing")
    if hasattr(config, "workerinput"):
        return
    if config.getoption("--measure"):
        config.pluginmanager.register(Measuring(), "measuring")
    elif config.getoption("--quick"):
        config.pluginmanager.register(Telling(), "telling")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes the slow ones out that are still there: doctests, and what needs a server."""
    if not config.getoption("--quick", default=False):
        return
    listed = read()
    slow = [item for item in items if item.nodeid in listed or needs_server(item)]
    left_out = set(slow)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=slow)


class Choosing:
    """Leaves out what is listed before its cases are made, and before its module is imported if
    nothing else is in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.listed = read()
        self.files = {name.partition("::")[0] for name in self.listed}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.suffix != ".py" or not collection_path.is_relative_to(self.root):
            return None
        file = collection_path.relative_to(self.root).as_posix()
        if file not in self.files or not collection_path.name.startswith("test_"):
            return None
        text = collection_path.read_text(encoding="utf-8")
        names = {name.rpartition("::")[2] for name in self.listed if name.startswith(f"{file}::")}
        if ">>>" in text or "class Test" in text or not set(TEST.findall(text)) <= names:
            return None
        return True

    def pytest_pycollect_makeitem(
        self, collector: pytest.Module | pytest.Class, name: str
    ) -> list[pytest.Item] | None:
        return [] if f"{collector.nodeid}::{name}" in self.listed else None


def needs_server(item: pytest.Item) -> bool:
    """Whether a test starts a server, or runs on one."""
    if EXPENSIVE & set(getattr(item, "fixturenames", ())):
        return True
    call = getattr(item, "callspec", None)
    return call is not None and "postgres" in (
        call.params.get("kind_of_store"),
        call.params.get("place"),
    )


def function_of(test: str) -> str:
    """The name of a test without its case.

    >>> function_of("tests/test_a.py::TestB::test_c[x::y]")
    'tests/test_a.py::TestB::test_c'
    """
    return test.partition("[")[0]


def read(file: Path = SLOW_TESTS) -> dict[str, float]:
    """The listed functions with the seconds that each took."""
    lines = (line.split(maxsplit=1) for line in file.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for seconds, name in lines}


def written(seconds: Mapping[str, float]) -> str:
    """The list of what took long."""
    slow = sorted((name, took) for name, took in seconds.items() if took >= SLOW)
    return "".join(f"{took:8.3f} {name}\n" for name, took in slow)


class Measuring:
    """How long all cases of each function took, with their fixtures.

    Without those on a server, which no quick run has.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        function = function_of(report.nodeid)
        if "postgres" not in report.nodeid.removeprefix(function):
            self.seconds[function] += report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK:
            SLOW_TESTS.write_text(written(self.seconds), encoding="utf-8")


class Telling(Measuring):
    """Says what is wrong with the list, at the end of a quick run."""

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Writes nothing."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in advice(self.seconds, read(), Path.cwd()):
            terminalreporter.write_line(line)


def advice(seconds: Mapping[str, float], listed: Iterable[str], root: Path) -> Sequence[str]:
    """What to do about the list, or nothing."""
    gone = [name for name in listed if not _there(root, name)]
    missing = [name for name, took in seconds.items() if took >= TOLD]
    lines = [f"slow, and not in {SLOW_TESTS.name}: {name}" for name in missing]
    lines += [f"in {SLOW_TESTS.name}, and not there: {name}" for name in gone]
    if lines:
        lines.append(f"./run test --measure makes {SLOW_TESTS.name} anew, from all tests")
    return lines


def _there(root: Path, name: str) -> bool:
    """Whether a file has a function of a name; a doctest has none."""
    path, _, inside = name.partition("::")
    file, function = root / path, inside.rpartition("::")[2]
    if not file.is_file():
        return False
    return not function.startswith("test") or f"def {function}(" in file.read_text(encoding="utf-8")
