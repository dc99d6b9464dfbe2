"""Tests that forks run are told as if one process had run them, whatever happens to a fork."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests import forking

pytest_plugins = ["pytester"]

PROCESS = """
import os
from pathlib import Path

def note(name):
    with Path(f"{name}.pid").open("a") as file:
        file.write(f"{os.getpid()}\\n")
"""
FIRST = """
import pytest
from process import note

@pytest.fixture(scope="module")
def broken():
    raise ValueError

@pytest.mark.parametrize("case", [1, 2])
def test_right(case):
    note(__name__)

def test_wrong():
    print("what the first one said")
    assert 1 == 2

def test_not_here():
    pytest.skip("elsewhere")

def test_without_its_fixture(broken):
    pass
"""
SECOND = """
from process import note

def test_right(tmp_path):
    print("what the second one said")
    note(__name__)
"""
DYING = """
import os, signal

def test_before():
    pass

def test_that_kills():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass
"""
STORES = """
import pytest

@pytest.mark.parametrize("kind_of_store", ["sqlite", "postgres"])
def test_one(kind_of_store):
    pass

@pytest.mark.parametrize("kind_of_store", ["sqlite", "postgres"])
def test_other(kind_of_store):
    pass
"""
THREAD = "ends-in-a-fork"  # a name of threads that only these tests give
LATE = """
import os
from tests.forking import pytest_addoption, pytest_configure
FIRST = os.getpid()

def pytest_unconfigure():
    if os.getpid() != FIRST:
        raise ValueError("too late for a test")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Tests for a run in this process, whose earlier tests may have begun threads of Polars."""
    monkeypatch.setattr(forking, "THREADED", {THREAD})
    pytester.makeconftest("from tests.forking import pytest_addoption, pytest_configure")
    pytester.makepyfile(process=PROCESS)
    return pytester


def ran(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    # The time limit of the test around it runs in a thread, for which a fork would wait for ever.
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:faulthandler", *options)


def test_forks_tell_what_one_process_tells(project: pytest.Pytester) -> None:
    project.makepyfile(test_first=FIRST, test_second=SECOND)
    told = ran(project, "--forks", "2", "--junitxml=told.xml", "--basetemp=temporary")
    told.assert_outcomes(passed=3, failed=1, skipped=1, errors=1)
    assert told.ret == pytest.ExitCode.TESTS_FAILED
    said = told.stdout.str()
    assert "assert 1 == 2" in said
    assert "what the first one said" in said
    assert "what the second one said" not in said
    assert (project.path / "temporary" / "fork0").is_dir(), "one folder has all temporary ones"
    assert 'tests="6"' in (project.path / "told.xml").read_text("utf-8")
    first, again = (project.path / "test_first.pid").read_text("utf-8").split()
    second = (project.path / "test_second.pid").read_text("utf-8").strip()
    assert first == again != second, "a file stays in one process, and another has its own"


def test_what_forks_and_their_children_use_is_told(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
from tests.forking import pytest_addoption as forks, pytest_configure

def pytest_addoption(parser):
    forks(parser)
    parser.addoption("--measure", action="store_true")
"""
    )
    busy = "import time\nbegun = time.process_time()\nwhile time.process_time() < begun + {}: pass"
    child = busy.format(0.3)
    project.makepyfile(
        test_own=f"def test_own():\n    exec({busy.format(0.2)!r}, {{}})\n",
        test_child=f"import subprocess, sys\n\ndef test_child():\n"
        f"    subprocess.run([sys.executable, '-c', {child!r}], check=True)\n",
    )
    told = ran(project, "--forks", "2", "--measure").stdout.str()
    rows = re.findall(r"^ +([\d.]+) (\w+)(?:\.py)?$", told, re.MULTILINE)
    used = {name: float(seconds) for seconds, name in rows}
    assert used["test_own"] >= 0.2
    assert used["test_child"] >= 0.3
    assert used["collecting"] > 0
    assert "processor seconds" not in ran(project, "--forks", "2").stdout.str()


def test_a_fork_that_dies_fails_one_test(project: pytest.Pytester) -> None:
    project.makepyfile(test_dying=DYING, test_second=SECOND)
    told = ran(project, "--forks", "2")
    told.assert_outcomes(passed=3, failed=1)
    told.stdout.fnmatch_lines(["The process that ran this test ended by signal 9."])


def test_it_stops_at_the_first_failure_if_asked(project: pytest.Pytester) -> None:
    project.makepyfile(test_first="import time\ndef test_wrong():\n    assert False\n" + SECOND)
    told = ran(project, "--forks", "1", "-x")
    assert told.parseoutcomes()["failed"] == 1
    assert "stopping after 1 failures" in told.stdout.str()


def test_forks_that_wait_are_ended_also_where_interrupts_are_ignored(
    project: pytest.Pytester,
) -> None:
    waits = "import threading\ndef test_that_waits():\n    threading.Event().wait(600)\n"
    project.makepyfile(test_first="def test_wrong():\n    assert False\n", test_waits=waits)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert ran(project, "--forks", "2", "-x").parseoutcomes() == {"failed": 1}
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_fails_after_the_last_test_is_told(project: pytest.Pytester) -> None:
    project.makeconftest(LATE)
    project.makepyfile(test_second=SECOND)
    told = ran(project, "--forks", "1")
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    assert "too late for a test" in told.stderr.str() + told.stdout.str()


def test_threads_that_would_end_are_refused(project: pytest.Pytester) -> None:
    project.makepyfile(test_second=SECOND)
    named, over = threading.Event(), threading.Event()

    def run() -> None:
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(THREAD, "utf-8")
        named.set()
        over.wait()

    thread = threading.Thread(target=run)
    thread.start()
    named.wait()
    try:
        told = ran(project, "--forks", "1")
    finally:
        over.set()
        thread.join()
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    assert f"Threads of {THREAD} run" in told.stderr.str()


def test_files_come_store_by_store_and_the_longest_first(project: pytest.Pytester) -> None:
    class Listed:
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            seconds = {"test_second.py::test_right": 3.0, "test_third.py::test_third": 2.0}
            self.files = forking.files_of(items, seconds)
            self.names = [[items[place].name for place in file] for file in self.files]

    listed = Listed()
    project.makepyfile(test_dying=DYING, test_second=SECOND, test_third="def test_third(): pass")
    project.makepyfile(test_stores=STORES)
    project.makepyfile(test_spark_a="def test_a(): pass", test_spark_b="def test_b(): pass")
    project.makepyfile(test_browser="def test_page(): pass", test_z_kafka="def test_z(): pass")
    project.inline_run("--collect-only", "-q", plugins=[listed])
    assert listed.names == [
        ["test_one[postgres]", "test_other[postgres]"],
        ["test_one[sqlite]", "test_other[sqlite]"],
        ["test_right"],
        ["test_third"],
        ["test_z", "test_page", "test_a", "test_b"],  # about slow servers, one after the other
        ["test_before", "test_that_kills", "test_after"],
    ]
