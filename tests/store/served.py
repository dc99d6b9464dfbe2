"""Faults under a store in Postgres: the program is killed, its sessions are ended, and the server
crashes or is restarted, at random instants; then everything must be as if nothing had happened.

The lives are those of ``tests.faults``, with the store in a server.  Many of them:
``python -m tests.store.served --faults 300``.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from ameles.store import open_store
from tests.faults.choices import Choices
from tests.faults.kills import Outcome, feed_life, follow_life, replay_life
from tests.faults.removable_noise import MILLION
from tests.faults.shim import Clock
from tests.faults.victims import Victim, Victims
from tests.faults.witness import Witness
from tests.faults.worlds import DAY, REGIONS, START, Cell, Values, World, event, truth_of
from tests.postgres import SIGN_IN, Server, serving

WAYS = ("replay", "follow", "user", "input", "sealed")
DEEDS = ("kill", "sessions", "crash", "restart")


class Served(World):
    """A world whose store is a schema of a server."""

    def __init__(self, folder: Path, victims: Victims, server: Server, **options: Any) -> None:
        super().__init__(folder, victims, **options)
        self.url = server.url(schema=f"w{server.number()}")
        self.text = self.text.replace('"s.db"', f'"{self.url}"')
        (self.place / "plan.toml").write_text(self.text, encoding="utf-8")

    def stored(self) -> Values:
        try:
            with psycopg.connect(self.url) as bare:
                rows = bare.execute('SELECT release, "key", step, value FROM releases').fetchall()
        except psycopg.errors.UndefinedTable:
            return {}  # it is still to be made
        return {(name, key, step): value for name, key, step, value in rows}

    def spent(self) -> tuple[int, bool]:
        with closing(open_store(self.url, create=False)) as store, store.reading() as transaction:
            ledger = transaction.ledger("people")
            return (
                (0, True) if ledger is None else (len(ledger.entries), ledger.spent == ledger.cap)
            )

    def check(self) -> None:
        with closing(open_store(self.url, create=False)) as store:
            store.check()


@dataclass
class Tally:
    """What was done, how programs ended, and what was violated."""

    deeds: Counter[str] = field(default_factory=Counter)  # those that a program felt
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    span: float = 0.15

    def do(self, deed: str, victim: Victim, server: Server, choices: Choices) -> None:
        """One fault, at some instant after the program has come to the server."""
        if deed != "kill":
            _met(server)
        choices.sleep(self.span)
        if deed == "kill":
            victim.kill()
        elif deed == "sessions":
            with server.admin() as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'owner'"
                )
        else:
            server.restart(signal.SIGQUIT if deed == "crash" else signal.SIGINT)

    def ended(self, deed: str, victim: Victim) -> None:
        """Notes how a program ended after a deed: well, or with a sentence."""
        code = victim.ended()
        self.span = self.span * 0.85 if code == 0 else min(self.span * 1.05, 2.0)
        if code != 0:
            self.deeds[deed] += 1
        self.ends[f"{deed}: {code}"] += 1
        words = victim.words
        if code not in (
            (0, -9) if deed == "kill" else (0, 4, -15)
        ):  # -15: asked to stop at its start
            self.wrong.append(f"I13: after '{deed}' it ended with {code}: {words[:300]}")
        if code == 4 and not words.lstrip().startswith(
            ("error[store]", "This plan was never", "Launched", "Following")
        ):
            self.wrong.append(f"I13: it ended without a sentence: {words[:300]}")
        if "Traceback" in words or SIGN_IN in words or "w%25rd" in words:
            self.wrong.append("I10: it said what it must not say")


def _met(server: Server) -> None:
    """Waits until a program is at the server, or was."""
    since = time.monotonic()
    with server.admin() as admin:
        while (
            time.monotonic() - since < 2.0
            and not admin.execute(
                "SELECT 1 FROM pg_stat_activity WHERE usename = 'owner'"
            ).fetchone()
        ):
            time.sleep(0.002)


def shaken(world: Served, server: Server, choices: Choices, faults: int, tally: Tally) -> None:
    """Runs over a file, each with a fault of some kind under it."""
    lines = [
        event(1 + choices.below(world.horizon), choices.below(9), choices.one_of(REGIONS), second)
        for second in range(0, DAY, DAY // 60)
    ]
    world.append(lines)
    witness = Witness(world)
    for turn in range(faults):
        until = min(world.horizon, 1 + (turn + 1) * world.horizon // faults)
        deed = DEEDS[choices.below(len(DEEDS))]
        victim = world.victims.start(world.replay(until))
        tally.do(deed, victim, server, choices)
        tally.ended(deed, victim)
        witness.look()
    # Totals over so many steps have parts of noises that cannot be taken off again.
    truth = truth_of(lines, world.horizon)
    finish(world, witness, tally, {cell: n for cell, n in truth.items() if cell[0] == "daily"})


def followed_by_faults(
    world: Served, clock: Clock, server: Server, choices: Choices, faults: int, tally: Tally
) -> None:
    """A program that follows a growing file, while the clock goes on from day to day."""
    witness, counted, day = Witness(world), dict.fromkeys(REGIONS, 0), 1
    clock.set(START.timestamp() + 3600)
    job = world.follow(clock)
    for turn in range(faults):
        victim = world.victims.start(job)
        region = choices.one_of(REGIONS)
        world.append([event(day, choices.below(9), region)])
        counted[region] += 1
        choices.sleep(tally.span)
        day = max(day, (turn + 1) * world.horizon // (faults + 1))
        clock.set(START.timestamp() + day * DAY + choices.upto(DAY / 2))
        deed = DEEDS[choices.below(len(DEEDS))]
        tally.do(deed, victim, server, choices)
        if deed != "kill":
            # It notices at its next step; one that was not hit is stopped in order.
            day = min(day + 1, world.horizon)
            clock.set(START.timestamp() + day * DAY + 1)
            time.sleep(0.3)
            victim.send(signal.SIGTERM)
        tally.ended(deed, victim)
        witness.look()
    clock.set(START.timestamp() + (world.horizon + 1) * DAY)
    finish(world, witness, tally, {}, world.victims.run(job))
    daily = sum(value % MILLION for cell, value in world.stored().items() if cell[0] == "daily")
    if daily != sum(counted.values()):
        tally.wrong.append("I3: the steps do not add up to the events")


def finish(
    world: Served,
    witness: Witness,
    tally: Tally,
    truth: Mapping[Cell, int],
    last: Victim | None = None,
) -> None:
    """An undisturbed run to the end, and what is wrong then."""
    victim = last or world.complete()
    if victim.ended() != 0:
        tally.wrong.append(f"I13: it does not come to its end: {victim.words[:300]}")
    tally.wrong += witness.verdict(truth)


def killed(way: str, folder: Path, victims: Victims, server: Server, kills: int) -> Outcome:
    """A life of kill -9, as on SQLite."""
    choices, clock = (
        Choices(way, folder.parent.name, folder.name),
        Clock(folder.with_name(folder.name + ".clock")),
    )
    if way in ("replay", "user"):
        kind = "user" if way == "user" else "event"
        return replay_life(Served(folder, victims, server, kind=kind), choices, kills)
    if way == "follow":
        return follow_life(Served(folder, victims, server), clock, choices, kills)
    kind = "sealed" if way == "sealed" else "event"
    world = Served(folder, victims, server, kind=kind, source="-", horizon=40)
    return feed_life(world, clock, choices, kills)


def main() -> int:
    """As many faults as asked for, each kind in turn."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--faults", type=int, default=100, help="how many, about half of them kills"
    )
    wanted: int = parser.parse_args().faults
    kills, tally, number = Outcome(), Tally(), 0
    with serving() as server, Victims() as victims, tempfile.TemporaryDirectory() as name:
        while kills.kills + tally.deeds.total() < wanted:
            folder = Path(name) / f"{number}"
            folder.mkdir()
            way = WAYS[number % len(WAYS)]
            done = killed(way, folder / "killed", victims, server, 12)
            kills.add(done)
            choices = Choices("shaken", number)
            world = Served(folder / "shaken", victims, server, horizon=96, batch=3)
            if number % 2:
                clock = Clock(folder / "clock")
                followed_by_faults(world, clock, server, choices, 8, tally)
            else:
                shaken(world, server, choices, 8, tally)
            number += 1
            said = f"{kills.kills} kills, {dict(tally.deeds)}; ends {dict(tally.ends)}"
            sys.stdout.write(f"{said} {kills.wrong + tally.wrong}\n")
            sys.stdout.flush()
    return 1 if kills.wrong or tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
