"""What a quick run leaves out, and that it says when its list is stale."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests import quick

pytest_plugins = ["pytester"]

OTHERS = """
import pytest

@pytest.fixture
def postgres():
    pass

@pytest.mark.parametrize("case", [1, 2])
def test_listed(case):
    pass

def test_quick():
    pass

def test_on_a_server(postgres):
    pass

@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_on_both(place):
    pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A few tests with a list of slow ones, and nothing else."""
    slow = pytester.path / "slow.txt"
    slow.write_text("    9.5 test_some.py::test_listed\n", encoding="utf-8")
    monkeypatch.setattr(quick, "SLOW_TESTS", slow)
    monkeypatch.setattr(quick.read, "__defaults__", (slow,))
    pytester.makeconftest(
        "from tests.quick import pytest_addoption, pytest_collection_modifyitems, pytest_configure"
    )
    pytester.makepyfile(test_some=OTHERS)
    return pytester


def ran(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", *options)


def test_all_run_without_it(project: pytest.Pytester) -> None:
    ran(project).assert_outcomes(passed=6)


def test_the_listed_and_those_of_a_server_are_left_out(project: pytest.Pytester) -> None:
    result = ran(project, "--quick", "-v")
    result.assert_outcomes(passed=2, deselected=2)
    result.stdout.fnmatch_lines(["*test_quick PASSED*", "*test_on_both?sqlite? PASSED*"])
    assert "slow.txt" not in result.stdout.str()


def test_a_file_of_listed_tests_alone_is_not_even_imported(project: pytest.Pytester) -> None:
    quick.SLOW_TESTS.write_text(
        "1.0 test_other.py::test_one\n1.0 test_other.py::test_two\n", encoding="utf-8"
    )
    functions = "def test_one():\n    pass\n\ndef test_two():\n    pass\n"
    project.makepyfile(test_other=f"raise ImportError\n{functions}")
    ran(project, "--quick").assert_outcomes(passed=4, deselected=2)
    for more in ("def test_three(): pass", "class TestMore: pass", "text = '>>> 1'"):
        project.makepyfile(test_other=f"raise ImportError\n{functions}\n{more}\n")
        ran(project, "--quick").assert_outcomes(errors=1)


def test_a_doctest_that_is_listed_is_left_out(project: pytest.Pytester) -> None:
    project.makepyfile(other="text = 1\n'''\n>>> 1\n2\n'''\n__doc__ = '>>> 1\\n2\\n'")
    ran(project, "--quick", "--doctest-modules").assert_outcomes(passed=2, failed=1, deselected=2)
    quick.SLOW_TESTS.write_text("1.0 other.py::other\n", encoding="utf-8")
    ran(project, "--quick", "--doctest-modules").assert_outcomes(passed=4, deselected=3)


def test_a_list_that_is_stale_says_so(project: pytest.Pytester) -> None:
    quick.SLOW_TESTS.write_text(
        "1.0 test_some.py::test_gone\n1.0 test_moved.py::test_quick\n", encoding="utf-8"
    )
    ran(project, "--quick").stdout.fnmatch_lines(
        [
            "in slow.txt, and not there: test_some.py::test_gone",
            "in slow.txt, and not there: test_moved.py::test_quick",
            "./run test --measure makes slow.txt anew, from all tests",
        ]
    )


def test_a_quick_test_that_takes_long_is_told() -> None:
    seconds = {"test_a.py::test_long": 3.0, "test_a.py::test_short": 0.1}
    told = quick.advice(seconds, {}, Path())
    assert told[0] == "slow, and not in slow.txt: test_a.py::test_long"
    assert len(told) == 2
    assert not quick.advice({}, {}, Path())


def test_what_is_measured_is_what_is_read(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "SLOW", 0.0)
    ran(project, "--measure").assert_outcomes(passed=6)
    names = {"listed", "quick", "on_a_server", "on_both"}
    assert set(quick.read()) == {f"test_some.py::test_{name}" for name in names}


def test_a_run_that_fails_measures_nothing(project: pytest.Pytester) -> None:
    before = quick.read()
    project.makepyfile(test_other="def test_wrong():\n    assert False\n")
    ran(project, "--measure").assert_outcomes(passed=6, failed=1)
    assert quick.read() == before


def test_a_function_takes_what_all_its_cases_take() -> None:
    measuring = quick.Measuring()
    parts: list[tuple[str, Literal["setup", "call"], float]] = [
        ("a", "setup", 0.5),
        ("a", "call", 0.3),
        ("b", "call", 0.4),
        ("postgres", "call", 9.0),
    ]
    for case, when, seconds in parts:
        name = f"test_a.py::test_long[{case}::b[0]]"
        report = pytest.TestReport(name, ("", 0, ""), {}, "passed", None, when, duration=seconds)
        measuring.pytest_runtest_logreport(report)
    assert measuring.seconds == {"test_a.py::test_long": pytest.approx(1.2)}
    measuring.seconds["test_a.py::test_short"] = 0.9 * quick.SLOW
    assert quick.written(measuring.seconds) == "   1.200 test_a.py::test_long\n"
