"""Reports of tests, as a fork sends them to the process that tells them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import pytest

When: TypeAlias = Literal["setup", "call", "teardown"]
Packed: TypeAlias = dict[str, Any] | tuple[When, float, float, float]


def death(item: pytest.Item, code: int) -> Packed:
    """What is told of a test whose process has ended."""
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    report = pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=f"The process that ran this test ended {how}.",
        when="call",
    )
    return packed(item.config, report)


def packed(config: pytest.Config, report: pytest.TestReport) -> Packed:
    """A report as it is sent: of most, which say that all went well, little is needed."""
    said = report.sections or report.user_properties or hasattr(report, "wasxfail")
    if report.passed and not said:
        return report.when, report.duration, report.start, report.stop
    sent: dict[str, Any] = config.hook.pytest_report_to_serializable(config=config, report=report)
    return sent


def unpacked(item: pytest.Item, sent: Packed) -> pytest.TestReport:
    """The report that was sent."""
    if isinstance(sent, dict):
        made = item.ihook.pytest_report_from_serializable(config=item.config, data=sent)
        assert isinstance(made, pytest.TestReport)
        return made
    when, duration, start, stop = sent
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="passed",
        longrepr=None,
        when=when,
        duration=duration,
        start=start,
        stop=stop,
    )
