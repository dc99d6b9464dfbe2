"""The faults of ``./run bench faults``, a few of each: nothing is lost, doubled or drawn twice."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ameles.testing import Choices, Clock, Victims, Witness, World, missing_compiler
from ameles.testing.crashes import ERRORS, MODES, Rehearsal
from ameles.testing.kills import life
from ameles.testing.worlds import DAY, START, event


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    if missing_compiler():
        pytest.skip(missing_compiler())
    with Victims() as server:
        yield server


@pytest.mark.parametrize("number", range(8))  # one of each way of life
def test_kills(number: int, tmp_path: Path, victims: Victims) -> None:
    outcome = life(1000 + number, tmp_path / "w", victims, 3)
    assert outcome.wrong == []


@pytest.mark.parametrize("kind", ["event", "sealed"])
def test_crashes_at_some_changes(kind: str, tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, kind=kind, horizon=3))
    count, choices = len(rehearsal.changes), Choices("crashes", kind)
    for mode in MODES:
        for _ in range(2):
            at = 1 + choices.below(count)
            assert rehearsal.crashed(tmp_path / "again", at, mode) == [], (at, mode)
            shutil.rmtree(tmp_path / "again")


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_refused_changes(error: int, tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, horizon=3))
    count, choices = len(rehearsal.changes), Choices("refused", error)
    for _ in range(3):
        at = 1 + choices.below(count)
        assert rehearsal.refused(tmp_path / "again", at, error) == [], at
        shutil.rmtree(tmp_path / "again")


@pytest.mark.parametrize("kind", ["event", "sealed"])
def test_power_cuts(kind: str, tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, kind=kind, horizon=3), follow=True)
    count, choices = len(rehearsal.changes), Choices("cuts", kind)
    for number in range(12):
        at = choices.below(count + 1)
        wrong, _ = rehearsal.cut(tmp_path / "cut", at, number)
        assert wrong == [], (at, number)
        shutil.rmtree(tmp_path / "cut")


def test_a_locked_database(tmp_path: Path, victims: Victims) -> None:
    world = World(tmp_path, victims)
    assert victims.run(world.replay(2)).ended() == 0
    witness = Witness(world).look()
    with closing(sqlite3.connect(world.place / "s.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = victims.run(replace(world.replay(), wait=0.2))
    assert refused.ended() == 4
    assert refused.words.startswith("error[store]: The store")
    assert world.complete().ended() == 0
    assert witness.verdict() == []


def test_a_file_that_may_not_grow(tmp_path: Path, victims: Victims) -> None:
    """A whole program, started as anybody would, whose files have a limit."""
    world = World(tmp_path, victims, noise="system")
    command = f"ulimit -f 64; exec {sys.executable} -m ameles run plan.toml --until 2020-01-07"
    shell = ["sh", "-c", f"trap '' XFSZ; {command}"]
    ended = subprocess.run(shell, cwd=world.place, capture_output=True, text=True)
    assert ended.returncode in (1, 4)
    assert ended.stderr.startswith("error[")
    assert world.complete().ended() == 0
    assert Witness(world).verdict() == []


def test_two_on_one_stream_and_one_that_is_stopped(tmp_path: Path, victims: Victims) -> None:
    world, clock = World(tmp_path / "w", victims), Clock(tmp_path / "clock")
    clock.set(START.timestamp() + DAY + 3600)
    first = victims.start(world.follow(clock))
    world.wait_for(1)
    first.send(signal.SIGSTOP)
    second = victims.run(world.replay())
    assert second.ended() == 4
    assert "is run by another process" in second.words
    world.append([event(2, 1, "north"), event(4, 1, "south")])
    clock.jump(3 * DAY)
    first.send(signal.SIGCONT)
    world.wait_for(4)  # every step that was missed is walked
    clock.jump(DAY * world.horizon)
    assert first.ended() == 0
    assert Witness(world).verdict(totals={"north": 1, "south": 1}) == []


def test_a_clock_that_jumps_a_day_either_way(tmp_path: Path, victims: Victims) -> None:
    world, clock = World(tmp_path / "w", victims), Clock(tmp_path / "clock")
    witness = Witness(world)
    clock.set(START.timestamp() + 3600)
    victim = victims.start(world.follow(clock))
    for step in range(1, 4):
        world.append([event(step, step, "north")])
        clock.jump(DAY)
        world.wait_for(step)
        clock.jump(-DAY)
        time.sleep(0.02)  # it sees that it is yesterday, and waits
        witness.look()
        assert world.released() == step
        clock.jump(DAY)
    victim.send(signal.SIGTERM)
    assert victim.ended() == 0
    clock.jump(-2 * DAY)
    victim = victims.start(world.follow(clock))  # days that were released before
    clock.jump(DAY * 9)
    assert victim.ended() == 0
    assert witness.verdict(totals={"north": 3, "south": 0}) == []


def test_forks_of_one_program_draw_their_own_noise(tmp_path: Path, victims: Victims) -> None:
    shown = []
    for name in ("a", "b"):
        world = World(tmp_path / name, victims, noise="system")
        assert world.complete().ended() == 0
        shown.append(world.stored())
    # 18 values of Laplace noise of scale 1.4 and more are all the same with a chance of 1e-9
    assert shown[0] != shown[1]


def test_two_that_race_for_the_launch(tmp_path: Path, victims: Victims) -> None:
    world = World(tmp_path, victims)
    racing = [victims.start(world.replay()) for _ in range(4)]
    codes = {victim.ended() for victim in racing}
    assert 0 in codes
    assert codes <= {0, 4}
    assert Witness(world).verdict() == []


def test_the_program_itself_is_killed_and_goes_on(tmp_path: Path, victims: Victims) -> None:
    """Not a fork of a loaded one: ``python -m ameles``, from its first instruction."""
    world = World(tmp_path, victims, noise="system")
    witness, choices = Witness(world), Choices("program")
    world.append(event(1 + n % 6, n, "north") for n in range(20))
    command = [sys.executable, "-m", "ameles", *world.replay().argv]
    for _ in range(2):
        with subprocess.Popen(command, cwd=world.place, stderr=subprocess.DEVNULL) as process:
            time.sleep(0.8 + choices.upto(0.7))
            process.kill()
        witness.look()
    subprocess.run(command, cwd=world.place, check=True, env=dict(os.environ))
    assert witness.verdict() == []
