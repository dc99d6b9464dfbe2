"""Lives: a program is killed (kill -9) at random instants and started again; nothing is lost."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.choices import Choices
from tests.faults.input_rows import ROWS, InputRows
from tests.faults.shim import Clock
from tests.faults.victims import Victim, Victims
from tests.faults.witness import Witness
from tests.faults.worlds import DAY, FOLDER, REGIONS, SINKS, START, World, event, truth_of

SPAN = 0.1  # seconds in which a run is mostly done; each life finds its own
BUSY = 0.15  # seconds after which one that follows mostly waits


@dataclass
class Outcome:
    """How many kills were made, and which invariants were violated."""

    kills: int = 0
    lives: int = 0
    wrong: list[str] = field(default_factory=list)
    span: float = SPAN
    most: float = 30.0

    def kill(self, victim: Victim, choices: Choices) -> None:
        """Kills it at some instant; counts if it was not done before."""
        choices.sleep(self.span)
        if victim.kill() == -9:
            self.kills += 1
            self.span = min(self.span * 1.05, self.most)
        else:
            self.span *= 0.8

    def add(self, other: Outcome) -> None:
        """Two as one."""
        self.kills += other.kills
        self.lives += other.lives
        self.wrong += other.wrong


REPLAYED = ("replay", "parquet", "growing", "system", "user", "discovered")
FOLLOWED = ("follow", "folder")
WAYS = (*REPLAYED, *FOLLOWED, "input", "sealed")


def life(number: int, folder: Path, victims: Victims, kills: int, *, broken: str = "") -> Outcome:
    """The life of this number: replay, following a file, a folder and standard input by turns, with
    events, users, discovered keys, sealed state, a Parquet sink, and the system's own noise."""
    choices = Choices("life", number)
    way = WAYS[number % len(WAYS)]
    clock = Clock(folder.with_name(folder.name + ".clock"))
    if way in REPLAYED:
        noise = "system" if way == "system" else "removable"
        kind = way if way in ("user", "discovered") else "event"
        sinks = ("out.parquet",) if way == "parquet" else SINKS
        world = World(folder, victims, kind=kind, noise=noise, sinks=sinks, broken=broken)
        return replay_life(world, choices, kills, growing=way == "growing")
    if way in FOLLOWED:
        source = FOLDER if way == "folder" else "events.csv"
        return follow_life(
            World(folder, victims, source=source, broken=broken), clock, choices, kills
        )
    kind = "sealed" if way == "sealed" else "event"
    world = World(folder, victims, kind=kind, source="-", horizon=40, broken=broken)
    return feed_life(world, clock, choices, kills)


def replay_life(world: World, choices: Choices, kills: int, *, growing: bool = False) -> Outcome:
    """Runs over a file, with later and later cut-offs; ``growing``: it gets lines in between."""
    witness, done = Witness(world), Outcome(lives=1)
    lines = _lines(choices, 40, range(1, world.horizon + 1))
    world.append(lines)
    for turn in range(kills):
        until = min(world.horizon, 1 + turn * (world.horizon + 1) // max(1, kills))
        if growing and until < world.horizon:
            more = _lines(choices, 3, range(1, world.horizon + 1))
            world.append(more)
            lines += more
        done.kill(world.victims.start(world.replay(until)), choices)
        witness.look()
    must_end(world.complete(), done)
    truth = None
    if world.kind == "event" and world.job.noise == "removable" and not growing:
        truth = truth_of(lines, world.horizon)
    totals = None
    if growing:
        totals = {name: sum(name in line for line in lines) for name in REGIONS}
    done.wrong += witness.verdict(truth, totals)
    return done


def follow_life(world: World, clock: Clock, choices: Choices, kills: int) -> Outcome:
    """A program that follows a growing file, or new ones in a folder: lines come in pieces, the
    clock jumps both ways, the process is stopped and goes on, and is killed."""
    witness, done = Witness(world), Outcome(lives=1, most=BUSY)
    counted = dict.fromkeys(REGIONS, 0)
    day, victim = 1, None
    clock.set(START.timestamp() + 3600)
    job = world.follow(clock)
    for turn in range(kills):
        victim = victim or world.victims.start(job)
        for line in _lines(choices, 1 + choices.below(3), range(1, day + 1)):
            cut = choices.below(len(line))
            world.append([line[:cut]])
            world.append([line[cut:]])
            counted[line.strip().rpartition(",")[2]] += 1
        if world.source == FOLDER and choices.chance(30):
            world.new_file()
        if day < world.horizon and choices.below(kills - turn) < world.horizon - day:
            day += 1
            clock.set(START.timestamp() + (day - 1) * DAY + choices.upto(DAY / 2))
        if choices.chance(10):
            clock.jump(-DAY)
        if choices.chance(15):
            victim.send(19)
            choices.sleep(0.02)
            victim.send(18)
        done.kill(victim, choices)
        victim = None
        witness.look()
    clock.set(START.timestamp() + (world.horizon + 1) * DAY)
    must_end(world.victims.run(job), done)
    done.wrong += witness.verdict(totals=counted)
    return done


def feed_life(
    world: World, clock: Clock, choices: Choices, kills: int, *, limit: float | None = None
) -> Outcome:
    """A program that follows standard input: rows are counted once or, if it was killed before
    they were kept, perhaps never.  Some are kept for a step that is open, some are released."""
    witness, done = Witness(world), Outcome(lives=1, most=BUSY)
    fifo = world.folder / "input"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDWR)
    rows = InputRows(world, pipe, limit)
    day = 1
    clock.set(START.timestamp() + 3600)
    job = world.follow(clock, fifo)
    try:
        for row in range(kills):
            victim = rows.reader = world.victims.start(job)
            if row < ROWS:
                rows.write(row)
            if row < ROWS and choices.chance(40):
                rows.keep(row)
            elif row < ROWS and choices.chance(30):
                day = rows.release(row, clock, day)
            elif day < world.horizon - 4:
                day += choices.below(2)
                clock.set(START.timestamp() + (day - 1) * DAY + 3600)
            done.kill(victim, choices)
            witness.look()
        clock.set(START.timestamp() + (world.horizon + 1) * DAY)
        must_end(world.victims.run(job), done)
    finally:
        os.close(pipe)
    done.wrong += witness.verdict() + rows.wrong()
    return done


def _lines(choices: Choices, count: int, days: range) -> list[str]:
    return [
        event(
            choices.one_of(days),
            choices.below(9),
            choices.one_of(REGIONS),
            choices.below(DAY),
        )
        for _ in range(count)
    ]


def must_end(victim: Victim, done: Outcome) -> None:
    """Notes a program that does not come to its end."""
    if victim.ended() != 0:
        said = victim.words.strip().splitlines()[:9]
        done.wrong.append(f"I13: it does not come to its end: {victim.ended()} {said}")
