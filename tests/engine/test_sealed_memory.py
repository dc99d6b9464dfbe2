"""The memory of a real process is searched: for events that it has counted, for noise that it has
used up, and for states that it has had before the last."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ameles.engine.sealed.sealed_state import overwrite_freed_memory
from tests.engine.people import TABLES_AND_RESIDUES, People, stream_of
from tests.engine.seized_process import MARK
from tests.engine.test_sealed import Sealed
from tests.engine.worlds import COUNT, HEADER, World, row

ROWS, STEPS = 100, 5
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc"),
    pytest.mark.sqlite_only("it looks into one process"),
]
# What the allocator can do, and not what the program says of it.
GLIBC = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
filling = pytest.mark.skipif(not GLIBC, reason="only glibc fills freed memory")


def test_the_allocator_is_asked_where_it_can_fill_freed_memory() -> None:
    assert overwrite_freed_memory() == GLIBC


@dataclass(frozen=True)
class Memory:
    """What the memory of a stopped process has of each step."""

    events: list[int]  # how many different ids of each step
    noises: set[int]  # the numbers of draws that are there as they were
    drawn: list[int]  # how many there had been after each step
    steps: set[int]  # of the states that can be read
    hashes: Callable[[], int]  # of users, as numbers or as text


def searched(world: World, *options: str) -> Memory:
    (world.folder / "plan.toml").write_text(world.text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.engine.seized_process", str(world.folder), str(STEPS)]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *options], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        drawn = []
        for step in range(STEPS):
            rows = [
                row(1, who=f"canary-{step}-{n:04}", region=region)
                for n in range(ROWS)
                for region in ("north", "south")
            ]
            text = [HEADER] * (step == 0) + rows
            process.stdin.write("".join(f"{line}\n" for line in text).encode())
            process.stdin.flush()
            drawn.append(int(process.stdout.readline()))
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        memory = _memory(process.pid)
        os.kill(process.pid, signal.SIGKILL)
    salt = stream_of(world).salt
    ids = {m for part in memory for m in re.findall(rb"canary-\d-\d{4}", part)}
    events = [sum(one.startswith(b"canary-%d" % step) for one in ids) for step in range(STEPS)]
    mark = (MARK >> 32).to_bytes(4, "little")
    lows = {
        int.from_bytes(part[m.start() - 4 : m.start()], "little")
        for part in memory
        for m in re.finditer(re.escape(mark), part)
    }
    heads = [m for part in memory for m in re.finditer(rb"AMELES\x00S[\x01\x02]\x00", part)]
    steps = {int.from_bytes(m.string[m.start() + 58 : m.start() + 66], "little") for m in heads}
    noises = {low for low in lows if 0 < low <= drawn[-1]}
    return Memory(events, noises, drawn, steps, partial(_hashes, memory, salt))


def _hashes(memory: list[bytes], salt: bytes) -> int:
    """How many keyed hashes of users are there: the numbers of all, the digits of a few."""
    texts = [
        hashlib.sha256(f"{salt.hex()}canary-{step}-{n:04}".encode()).hexdigest()[:15]
        for step in range(STEPS)
        for n in range(ROWS)
    ]
    numbers = np.array([int(text, 16) for text in texts], dtype=np.uint64)
    count = sum(text.encode() in part for text in texts[:: ROWS // 2 + 1] for part in memory)
    ends = np.zeros(1 << 16, dtype=np.bool_)  # few words end in the same two bytes
    ends[numbers & 0xFFFF] = True
    for part in memory:
        words = np.frombuffer(part, "<u8", len(part) // 8)
        low = np.frombuffer(part, "<u2", len(part) // 8 * 4)[::4]  # the lower two bytes of each
        count += int(np.isin(words[ends[low]], numbers).sum())
    return count


def _memory(process: int) -> list[bytes]:
    pieces = []
    maps = Path(f"/proc/{process}/maps").read_text(encoding="ascii").splitlines()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            place, allowed, *rest = line.split()
            if "w" not in allowed or (rest and rest[-1].startswith("[v")):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            memory.seek(start)
            pieces.append(memory.read(end - start))
    return pieces


def events_are_gone(memory: Memory) -> bool:
    """But for a small piece here and there that an allocator may keep."""
    return sum(memory.events) <= 0.02 * ROWS * STEPS


@filling
def test_events_noise_and_states_that_are_over_are_not_in_memory(tmp_path: Path) -> None:
    memory = searched(Sealed(tmp_path, COUNT, "one"))
    assert events_are_gone(memory)
    # the last step has opened the next one: its noise is the state
    assert memory.noises <= set(range(memory.drawn[-2] + 1, memory.drawn[-1] + 1))
    assert memory.steps <= {STEPS}


def test_what_a_program_keeps_is_found(tmp_path: Path) -> None:
    """All of it: the search sees everything that is there."""
    memory = searched(Sealed(tmp_path, COUNT, "one"), "keeping")
    assert memory.events == [ROWS] * STEPS
    assert memory.noises == set(range(1, memory.drawn[-1] + 1))
    assert memory.steps >= set(range(1, STEPS + 1))


def test_what_is_left_lying_is_found(tmp_path: Path) -> None:
    """How much that is depends on what the allocator used again; the last step's is still there."""
    assert not events_are_gone(searched(Sealed(tmp_path, COUNT, "one"), "careless"))


@filling
def test_of_users_in_tables_nothing_is_left_but_the_last_state(tmp_path: Path) -> None:
    """With every statistic that a table can tell."""
    memory = searched(People(tmp_path, TABLES_AND_RESIDUES))
    assert events_are_gone(memory)
    assert memory.hashes() == 0
    assert memory.steps <= {STEPS}


def test_hashes_of_users_that_are_left_lying_are_found(tmp_path: Path) -> None:
    memory = searched(People(tmp_path, TABLES_AND_RESIDUES), "careless")
    assert not events_are_gone(memory)
    assert memory.hashes() > 0
