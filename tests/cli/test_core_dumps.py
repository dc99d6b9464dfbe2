"""The program turns off its core dumps itself, before any command runs."""

from __future__ import annotations

import sys

import pytest

from tests.warm_processes import run

LOOK = """
import ctypes, resource, sys
from ameles import cli

def look():
    print(resource.getrlimit(resource.RLIMIT_CORE))
    if sys.platform == "linux":
        print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))  # PR_GET_DUMPABLE

cli.app = look
sys.argv = ["ameles"]
cli.main()
"""


def test_nothing_is_dumped_when_a_command_runs() -> None:
    said = run("-c", LOOK)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[0] == "(0, 0)"
    if sys.platform == "linux":
        assert said.stdout.splitlines()[1] == "0"


def test_a_system_that_cannot_be_told_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from ameles.cli import core_dumps

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("resource.setrlimit", refuse)
    monkeypatch.setattr("ctypes.CDLL", refuse)
    core_dumps.forbid_core_dumps()
