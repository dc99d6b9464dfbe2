"""Where everything is installed, skips are refused: ``AMELES_TEST_SKIPS=refused``, as in CI.

A skipped test is green, so a machine without Postgres, or a condition that is always true, would
hide whatever the test is about.  Only the reasons below pass: what a container may forbid, whatever
is installed in it.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "AMELES_TEST_SKIPS"
# What a machine may lack although every package is installed.
ALLOWED = (
    "needs a kernel with overlay",
    "needs a kernel that mounts loop devices for this user",
    "needs a tmpfs at /dev/shm",
    "needs the right to make network namespaces",
    "this disk tells no case apart",
)


def pytest_configure(config: pytest.Config) -> None:
    """Listens in the one process that has all reports."""
    if os.environ.get(VARIABLE) == "refused" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Refusing(), "refusing skips")


class Refusing:
    """Fails a run with a skip that is not allowed, and says which tests those were."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if not reason.removeprefix("Skipped: ").startswith(ALLOWED):
            self.skipped.append(f"{report.nodeid}: {reason}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:  # a whole module
            self.skipped.append(f"{report.nodeid}: {report.longreprtext}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skips that are refused here (tests/skips.py)", red=True)
            for one in self.skipped:
                terminalreporter.line(one)
