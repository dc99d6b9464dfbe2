"""A run that refuses skips fails, except for allowed reasons.  A test that hangs is named."""

from __future__ import annotations

import pytest

from tests.skips import ALLOWED, VARIABLE

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

def test_that_runs():
    pass

def test_that_skips():
    pytest.skip({reason!r})
"""
MODULE = 'import pytest\npytest.importorskip("a_package_that_is_not_there")\n'
HANGING = """
import time

def test_that_hangs():
    time.sleep(600)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv(VARIABLE, "refused")
    pytester.makeconftest("from tests.skips import pytest_configure")
    return pytester


def ran(project: pytest.Pytester) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider")


def test_a_skip_fails_a_run_that_refuses_skips(project: pytest.Pytester) -> None:
    project.makepyfile(test_one=SKIPPING.format(reason="the allocator cannot overwrite"))
    told = ran(project)
    assert told.ret == pytest.ExitCode.TESTS_FAILED
    told.stdout.fnmatch_lines(["*test_one.py::test_that_skips*the allocator cannot overwrite*"])


def test_a_module_that_is_skipped_does_too(project: pytest.Pytester) -> None:
    project.makepyfile(test_one=MODULE, test_other="def test_that_runs(): pass")
    assert ran(project).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("reason", ALLOWED)
def test_what_a_machine_may_lack_may_be_skipped(reason: str, project: pytest.Pytester) -> None:
    project.makepyfile(test_one=SKIPPING.format(reason=reason))
    assert ran(project).ret == pytest.ExitCode.OK


def test_elsewhere_skips_pass(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    project.makepyfile(test_one=SKIPPING.format(reason="needs a browser"))
    assert ran(project).ret == pytest.ExitCode.OK


def test_the_time_limit_of_every_test_is_set(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("faulthandler_timeout")) > 0
    assert pytestconfig.getini("faulthandler_exit_on_timeout")


def test_a_test_that_hangs_ends_and_is_named(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfaulthandler_timeout = 5\nfaulthandler_exit_on_timeout = true\n")
    pytester.makepyfile(test_one=HANGING)
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert told.ret != pytest.ExitCode.OK
    assert "test_that_hangs" in told.stderr.str()
