"""``./run test --quick``: the tests that one runs often, without those that take long.

A test is quick unless it needs a server or the victims of the fault laboratory, or is listed in
``slow.txt``: the functions whose cases took 0.008 seconds or more each, on average, when the whole
suite was last measured, on two cores.  Of each second a quick run so gets the most tests.
``./run test --measure`` writes that list anew.

The list cannot go stale in silence.  Each quick run ends with what has to be done about it: names
that are no longer there, and tests that took long and are not listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

SLOW_TESTS = Path(__file__).with_name("slow.txt")
SLOW = 0.008  # seconds that a case of a function takes, where the suite was measured
TOLD = 1.0  # seconds a case after which a quick run says that a function should be listed
EXPENSIVE = frozenset({"postgres", "victims"})  # fixtures that start servers


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options, beside pytest's own."""
    group = parser.getgroup("ameles")
    group.addoption("--quick", action="store_true", help="leave out the tests that take long")
    group.addoption("--measure", action="store_true", help=f"write {SLOW_TESTS.name} anew")


def pytest_configure(config: pytest.Config) -> None:
    """Only one process listens: the one that has the reports of all."""
    if hasattr(config, "workerinput"):
        return
    if config.getoption("--measure"):
        config.pluginmanager.register(Measuring(), "measuring")
    elif config.getoption("--quick"):
        config.pluginmanager.register(Telling(), "telling")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes the slow ones out, in every process alike."""
    if not config.getoption("--quick", default=False):
        return
    listed = read()
    slow = [item for item in items if is_slow(item, listed)]
    left_out = set(slow)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=slow)


def is_slow(item: pytest.Item, listed: Iterable[str]) -> bool:
    """Whether a test is left out of a quick run."""
    if function_of(item.nodeid) in listed:
        return True
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
    """The listed functions with the seconds that a case of each took."""
    lines = (line.split(maxsplit=1) for line in file.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for seconds, name in lines}


def written(seconds: Mapping[str, float]) -> str:
    """The list of what took long."""
    slow = sorted((name, each) for name, each in seconds.items() if each >= SLOW)
    return "".join(f"{each:8.3f} {name}\n" for name, each in slow)


class Measuring:
    """How long a case of each function took on average, its fixtures included."""

    def __init__(self) -> None:
        self.total: defaultdict[str, float] = defaultdict(float)
        self.cases: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = function_of(report.nodeid)
        self.total[name] += report.duration
        self.cases[name].add(report.nodeid)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds a case of each function."""
        return {name: total / len(self.cases[name]) for name, total in self.total.items()}

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
    missing = [name for name, each in seconds.items() if each >= TOLD]
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
