"""The budget file of a device: what is on the disk when, and who may write it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.local import Client, RandomizedResponse, Server

QUESTION = Server(RandomizedResponse(categories=2, epsilon=1), question="flu").question


def test_a_budget_is_on_the_disk_before_anybody_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget"
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, len(path.read_bytes())))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    client = Client.create(path, cap=2)
    written = len(path.read_bytes())
    assert synced == [("file", written), ("folder", written)]
    synced.clear()
    client.answer(QUESTION, 1)
    assert synced == [("file", len(path.read_bytes()))]
    synced.clear()
    client.answer(QUESTION, 1)  # it is there already
    assert synced == []


def test_another_process_that_answers_first_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read once nobody else can write it."""
    path = tmp_path / "budget"
    client, other = Client.create(path, cap=1), Client(path)
    given: list[str] = []
    real: Any = fcntl.flock

    def flock(file: Any, how: int) -> None:
        if not given:  # the other has the lock, and we wait for it
            assert how == fcntl.LOCK_EX
            given.append("")
            given.append(other.answer(QUESTION, 0))
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    assert client.answer(QUESTION, 1) == given[1]
    assert client.spent == 1


def test_what_a_crash_left_of_a_line_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "budget"
    client = Client.create(path, cap=2)
    with path.open("ab") as file:
        file.write(b"x" * 5000)
    report = client.answer(QUESTION, 1)
    assert b"x" not in path.read_bytes()
    assert path.read_bytes().endswith(b"}\n")
    assert Client(path).answer(QUESTION, 1) == report


def test_a_renamed_file_is_the_same_budget(tmp_path: Path) -> None:
    client = Client.create(tmp_path / "budget", cap=2)
    report = client.answer(QUESTION, 1)
    (tmp_path / "budget").rename(tmp_path / "moved")
    again = Client(tmp_path / "moved")
    assert (again.answer(QUESTION, 1), again.spent) == (report, Fraction(1))
    assert '"why":"budget"' in client.answer(QUESTION, 1)  # its file is not there any more


class Evil:
    def __index__(self) -> int:
        raise KeyError("8675309")


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        (1, 1),
        (True, 1),
        (np.int64(1), 1),
        (0, 0),
        (False, 0),
        # not listed: the draw modulo the categories, here 2 of 4 draws
        *((other, 0) for other in (None, "1", 1.0, b"1", [1], Evil(), 2, -1, 10**400)),
    ],
)
def test_whole_numbers_are_values_and_nothing_is_refused(
    tmp_path: Path, value: object, reported: int
) -> None:
    recipe = RandomizedResponse(categories=2, odds=3)
    client = Client.create(tmp_path / "budget", cap=2, draw=lambda below: 2)
    report = client.answer(Server(recipe, question="flu").question, value)
    assert json.loads(report)["report"] == reported


@pytest.mark.parametrize("asked", ["cap", "spent"])
def test_nobody_appends_while_the_file_is_looked_at(tmp_path: Path, asked: str) -> None:
    """A look at a shorter file would forget how long it was, or refuse the longer one."""

    class Looking(Client):
        def _read(self, file: Any) -> Any:
            with self._path.open("r+b") as other, pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return super()._read(file)

    Client.create(tmp_path / "budget", cap="2")
    client = Looking(tmp_path / "budget")
    assert getattr(client, asked) == {"cap": 2, "spent": 0}[asked]
