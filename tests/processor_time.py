"""The processor time of each file of tests, which the load of the machine hardly changes.

``--measure`` with ``--forks`` prints it at the end, with that of collecting.  It counts a fork and
the processes that it has waited for; a server that runs on is counted when it ends.
"""

from __future__ import annotations

import resource
from collections import defaultdict

import pytest

SHOWN = 40  # files


def used() -> float:
    """The seconds that this process has used, with its children that have ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, whose))


class ProcessorTime:
    """What each file has used, told at the end of a run."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        self.seconds["collecting"] = used()

    def add(self, test: str, seconds: float) -> None:
        """Counts one test.

        >>> time = ProcessorTime()
        >>> for test, seconds in [("test_a.py::test_b", 0.5), ("test_c.py::test_d[1]", 2.0)] * 2:
        ...     time.add(test, seconds)
        >>> time.lines()
        ['processor seconds: 5.0', '     4.0 test_c.py', '     1.0 test_a.py']
        """
        self.seconds[test.partition("::")[0]] += seconds

    def lines(self) -> list[str]:
        """The sum, and the files that use most."""
        most = sorted(self.seconds.items(), key=lambda row: -row[1])[:SHOWN]
        told = [f"{seconds:8.1f} {name}" for name, seconds in most]
        return [f"processor seconds: {sum(self.seconds.values()):.1f}", *told]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.lines():
            terminalreporter.write_line(line)
