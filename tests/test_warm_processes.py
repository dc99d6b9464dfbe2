"""Processes that start at once are like those that Python starts itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm_processes import WarmProcess, run, start

TELL = """
import os, sys, threading
from pathlib import Path
print(__name__, sys.argv[1:], Path.cwd(), os.environ.get("GIVEN"), sys.stdin.read(), sep="|")
print("err", file=sys.stderr)
threading.Thread(target=lambda: print("thread")).start()
sys.exit(3)
"""
WAIT = "import time\nprint('ready', flush=True)\ntime.sleep(600)"


def test_it_is_as_if_python_had_started_it(tmp_path: Path) -> None:
    environment = {**os.environ, "GIVEN": "here"}
    command = [sys.executable, "-c", TELL, "a", "b c"]
    cold = subprocess.run(
        *(command,), input="words", capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    warm = run(*command[1:], given="words", cwd=tmp_path, env=environment)
    assert (warm.returncode, warm.stdout, warm.stderr) == (3, cold.stdout, cold.stderr)
    assert cold.returncode == 3
    assert warm.stdout == f"__main__|['a', 'b c']|{tmp_path}|here|words\nthread\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_is_a_process_of_its_own_that_a_signal_ends(number: signal.Signals) -> None:
    with start("-c", WAIT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert isinstance(process, WarmProcess) == (sys.platform == "linux")
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait() == -number
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_an_error_is_told_with_its_trace() -> None:
    ended = run("-c", "1 / 0")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_the_program_runs_by_its_name() -> None:
    assert run("-m", "ameles", "--version").stdout.startswith("ameles ")
    assert run("-m", "ameles", "nonsense").returncode == 2


def test_what_one_process_changes_no_other_sees() -> None:
    change = "import os, ameles.store as s\ns.changed = 1\nos.environ['X'] = '1'"
    assert run("-c", change).returncode == 0
    ask = "import os, ameles.store as s\nprint(hasattr(s, 'changed'), 'X' in os.environ)"
    assert run("-c", ask).stdout == "False False\n"


def test_a_mutant_is_started_by_python_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMELES_REACHED", os.devnull)
    with start("-c", "") as process:
        assert not isinstance(process, WarmProcess)
