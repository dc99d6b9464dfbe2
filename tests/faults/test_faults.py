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
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import Choices, Clock, Victims, Witness, World
from tests.faults.crashes import ERRORS, MODES, Faults
from tests.faults.input_rows import unread
from tests.faults.kills import WAYS, life
from tests.faults.rehearsals import Rehearsal
from tests.faults.suite import KINDS
from tests.faults.worlds import DAY, START, Values, event


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_kills(number: int, tmp_path: Path, victims: Victims) -> None:
    outcome = life(len(WAYS) * 100 + number, tmp_path / "w", victims, 2)
    assert outcome.wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_some_faults_in_every_kind_of_stream(kind: str, tmp_path: Path, victims: Victims) -> None:
    faults = Faults(KINDS[kind].rehearse(tmp_path / "w", victims, horizon=2))
    rehearsal, choices = faults.rehearsal, Choices("some", kind)
    count, own = len(rehearsal.changes), rehearsal.own
    errors = [errno.errorcode[error] for error in ERRORS]
    some = [
        *(("crashes", 1 + choices.below(count), mode) for mode in MODES),
        ("deaths", 1 + choices.below(own), choices.one_of(MODES)),
        ("refusals", 1 + choices.below(own), errors[list(KINDS).index(kind) % 3]),
        *(("cuts", choices.below(count + 1), str(number)) for number in range(3)),
    ]
    for number, (part, at, how) in enumerate(some):
        assert faults.inject(part, tmp_path / str(number), at, how) == [], (part, at, how)


def test_deaths_amid_the_pieces_of_many_due_steps(tmp_path: Path, victims: Victims) -> None:
    """The program dies by itself, or the machine crashes, at a change between the first piece and
    the last: the steps that were released stay, and the others follow with the totals of before."""
    world = World(tmp_path / "w", victims, horizon=12, batch=12, sinks=("out.csv",))
    faults = Faults(Rehearsal.of(world))
    choices, count = Choices("pieces"), len(faults.rehearsal.changes)
    for number in range(8):
        part = ("crashes", "deaths")[number % 2]
        among = faults.rehearsal.own if part == "deaths" else count
        at = 1 + among // 4 + choices.below(among // 2)
        wrong = faults.inject(part, tmp_path / str(number), at, MODES[number % 3])
        assert wrong == [], (part, at, MODES[number % 3])
    assert faults.missed == 0


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


@pytest.mark.parametrize("sink", ["out.csv", "out.jsonl", "out.parquet"])
def test_a_sink_that_somebody_removes(sink: str, tmp_path: Path, victims: Victims) -> None:
    """It comes again, whole and the same, as long as its note is there."""
    world = World(tmp_path, victims, horizon=2, sinks=(sink,))
    assert victims.run(world.replay(1)).ended() == 0
    witness = Witness(world).look()
    for step in (1, 2):
        if sink == "out.parquet":
            shutil.rmtree(world.place / sink)
        else:
            (world.place / sink).unlink()
        assert victims.run(world.replay(step)).ended() == 0
    assert witness.verdict() == []
    (world.place / f"{sink}.ameles").unlink()
    refused = victims.run(world.replay())
    assert refused.ended() == 4
    assert "lost the file beside it" in refused.words


def test_a_file_that_may_not_grow(tmp_path: Path, victims: Victims) -> None:
    """A whole program, started as anybody would, whose files have a limit."""
    world = World(tmp_path, victims, noise="system")
    run = f"{sys.executable} -m ameles run plan.toml --yes --until 2020-01-07"
    command = f"ulimit -f 64; exec {run}"
    shell = ["sh", "-c", f"trap '' XFSZ; {command}"]
    ended = subprocess.run(shell, cwd=world.place, capture_output=True, text=True)
    assert ended.returncode in (1, 4)
    assert "Traceback" not in ended.stderr
    assert "error[" in ended.stderr
    assert world.complete().ended() == 0
    assert Witness(world).verdict() == []


def writing(world: World) -> bool:
    """Whether somebody has a transaction open that may write."""
    with closing(sqlite3.connect(world.place / "s.db", timeout=0)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        database.execute("ROLLBACK")
        return False


def stopped(world: World, clock: Clock) -> list[str]:
    """One is stopped for three days, and another one tries; what is wrong then."""
    victims = world.victims
    clock.set(START.timestamp() + DAY + 3600)
    first = victims.start(world.follow(clock))
    world.wait_for(1)
    first.send(signal.SIGSTOP)
    while writing(world):  # stopped within a transaction, it would keep the second one waiting
        first.send(signal.SIGCONT)
        time.sleep(0.002)
        first.send(signal.SIGSTOP)
    second = victims.run(world.replay(2))
    if second.ended() != 4 or "is run by another process" not in second.words:
        return [f"the second one ended with {second.ended()}"]
    world.append([event(2, 1, "north"), event(4, 1, "south")])
    clock.jump(3 * DAY)
    first.send(signal.SIGCONT)
    world.wait_for(4)  # every step that was missed is walked, with what is its own
    clock.jump(DAY * world.horizon)
    assert first.ended() == 0
    daily: Values = {("daily", "", step): int(step in (2, 4)) for step in range(1, 7)}
    return Witness(world).verdict(daily, {"north": 1, "south": 1})


@pytest.mark.parametrize("broken", ["", "no hold", "missed steps as one"])
def test_two_on_one_stream_and_one_that_is_stopped(
    broken: str, tmp_path: Path, victims: Victims
) -> None:
    wrong = stopped(World(tmp_path / "w", victims, broken=broken), Clock(tmp_path / "clock"))
    assert bool(wrong) == bool(broken), wrong


@pytest.mark.parametrize("broken", ["", "clock believed"])
def test_rows_that_come_when_the_clock_was_set_back(
    broken: str, tmp_path: Path, victims: Victims
) -> None:
    world = World(tmp_path / "w", victims, source="-", horizon=4, broken=broken)
    clock, fifo = Clock(tmp_path / "clock"), tmp_path / "input"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDWR)
    clock.set(START.timestamp() + 2 * DAY + 3600)
    victim = victims.start(world.follow(clock, fifo))
    world.wait_for(2)
    clock.jump(-DAY)  # it is the second day again, which was released
    for line in (b'{"n": 7, "region": "north"}\n', b"\n"):
        os.write(pipe, line)
        while unread(pipe):  # that the second was read shows that the first is in the queue
            time.sleep(0.002)
    clock.jump(3 * DAY)
    assert victim.ended() == 0
    os.close(pipe)
    wrong = Witness(world).verdict(totals={"north": 7, "south": 0})
    assert bool(wrong) == bool(broken), wrong


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


@pytest.mark.parametrize("broken", ["", "copied noise"])
def test_forks_of_one_program_draw_their_own_noise(
    broken: str, tmp_path: Path, victims: Victims
) -> None:
    values = []
    for name in ("a", "b"):
        world = World(tmp_path / name, victims, noise="system", broken=broken)
        assert world.complete().ended() == 0
        values.append(world.stored())
    # 18 values of Laplace noise of scale 1.4 and more are all the same with a chance of 1e-9
    assert (values[0] == values[1]) == bool(broken)


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
            choices.sleep(1.5, 0.8)
            process.kill()
        witness.look()
    subprocess.run(command, cwd=world.place, check=True, env=dict(os.environ))
    assert witness.verdict() == []
