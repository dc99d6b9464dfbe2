"""Children that run some tests: forks of a process that has loaded everything but Ameles."""

from __future__ import annotations

import importlib
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.packages import TREE

_LOADED = (
    *(
        "cryptography.hazmat.primitives.ciphers",
        "duckdb",
        "hypothesis.stateful",
        "numpy",
        "psycopg",
    ),
    *("pydantic", "pytest", "rich.console", "rich.table", "typer.testing", "zoneinfo"),
    *("sqlite3", "multiprocessing", "concurrent.futures", "unittest.mock", "fractions", "decimal"),
)
HUNG = 1 << 16  # instead of an exit code
PATIENCE = 3600.0  # seconds after which one that waits for something hangs, on any machine


def preload() -> None:
    """What every child needs, once."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in _LOADED:
        importlib.import_module(name)


@dataclass
class Child:
    """A process that runs tests, and how long it may."""

    process: int
    since: float
    seconds: float
    done: Callable[[int], Any]

    @property
    def hangs(self) -> bool:
        """Whether it has used up its time: its own, since others may be using the machine."""
        waited = time.monotonic() - self.since
        return waited > self.seconds and (_used(self.process) > self.seconds or waited > PATIENCE)


@dataclass(frozen=True, slots=True)
class Task:
    """What a child does, how many seconds of its own it may take, and what is done with its exit
    code."""

    work: Callable[[], int]
    seconds: float
    done: Callable[[int], Any]


def in_parallel(tasks: deque[Task], count: int) -> None:
    """Runs tasks, so many at a time; one that is done may add others."""
    running: list[Child] = []
    try:
        while tasks or running:
            while tasks and len(running) < count:
                task = tasks.popleft()
                begun = time.monotonic()
                running.append(Child(_forked(task.work), begun, task.seconds, task.done))
            for child in list(running):
                code = _ended(child)
                if code is not None:
                    running.remove(child)
                    child.done(code)
            time.sleep(0.1)  # looking more often costs more than it saves
    finally:
        for child in running:
            _kill(child.process)
            os.waitpid(child.process, 0)


def _ended(child: Child) -> int | None:
    process, status = os.waitpid(child.process, os.WNOHANG)
    if process:
        _kill(child.process)  # what it may have started and left
        return os.waitstatus_to_exitcode(status)
    if not child.hangs:
        return None
    _kill(child.process)
    os.waitpid(child.process, 0)
    return HUNG


def _used(process: int) -> float:
    """Seconds of the processor that a process and the children that it has waited for have used."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return math.inf  # without /proc only the clock is left
    ticks = sum(int(field) for field in status.rpartition(")")[2].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _forked(work: Callable[[], int]) -> int:
    process = os.fork()
    if process:
        with suppress(PermissionError):
            os.setpgid(process, process)
        return process
    code = 70
    try:
        with suppress(PermissionError):
            os.setpgid(0, 0)
        code = work()
    finally:
        os._exit(code)


def tested(arguments: list[str], plugin: object, words: Path, environment: dict[str, str]) -> int:
    """Runs pytest in this process, which is a child; what it says goes to a file."""
    said = os.open(words, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    subprocesses = str(TREE / "tests" / "subprocesses")
    os.environ.update(environment, PYTHONPATH=f"{subprocesses}{os.pathsep}{TREE / 'src'}")
    os.chdir(TREE)
    from tests.mutation import hook

    hook.install()
    import pytest

    quiet = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
    return int(pytest.main([*quiet, "--hypothesis-seed=1", *arguments], plugins=[plugin]))
