"""Crashes at every change of a file, and disks that refuse one: what is left goes on.

A run is done once and its changes are counted; then, for each change, in a world of its own, it is
done again up to there.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from ameles.testing.choices import Choices
from ameles.testing.kills import Outcome, must_end
from ameles.testing.power import Change, Power, read_changes
from ameles.testing.shim import Clock, Fault
from ameles.testing.victims import Job
from ameles.testing.witness import Witness
from ameles.testing.worlds import DAY, REGIONS, START, Shown, World, event, shown_by, truth_of

MODES = ("before", "torn", "after")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
REFUSED = (1, 4)  # what a sink or the store refuses
EPOCH = "epoch"  # a torn key slot ends it, and nothing else does


@dataclass
class Rehearsal:
    """A run to its end from a fresh world, and the changes that it made."""

    world: World
    before: dict[str, bytes]
    changes: list[Change]
    lines: list[str] = field(repr=False)
    job: Job
    epochs: int = 0  # of vaults, that were ended

    @classmethod
    def of(cls, world: World, *, follow: bool = False) -> Rehearsal:
        """Rehearses in this world; ``follow``: step by step under a clock."""
        lines = [
            event(1 + n % world.horizon, n % 5, REGIONS[n % 3 % 2], n * 4001) for n in range(24)
        ]
        scratch = world.folder
        log, given = scratch.with_suffix(".log"), scratch.with_suffix(".input")
        job = world.replay()
        if world.source == "-":
            rows = [{"n": 4**n, "region": REGIONS[n % 2]} for n in range(6)]
            given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            job = replace(job, stdin=str(given))
        else:
            world.append(lines)
        before = Power.files(world.folder)
        log.unlink(missing_ok=True)
        if follow:
            _step_by_step(world, Clock(scratch.with_suffix(".clock")), given, log)
        else:
            must_end(world.victims.run(job, Fault(log=str(log))), Outcome())
        return cls(world, before, read_changes(log), lines, job)

    def again(self, folder: Path) -> tuple[World, Job]:
        """The world as it was before, elsewhere, and what to do there."""
        for path, content in self.before.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / path).write_bytes(content)
        world = self.world.at(folder)
        return world, replace(self.job, folder=world.place, root=str(world.folder))

    def verdict(self, world: World, witness: Witness) -> list[str]:
        """Runs to the end, and says what is violated."""
        done = Outcome()
        ended = world.complete()
        if world.kind == "sealed" and ended.ended() == 4 and EPOCH in ended.words:
            self.epochs += 1
            return _ended(world, witness)
        must_end(ended, done)
        files = world.source != "-" and world.kind == "event" and world.job.noise == "marked"
        truth = truth_of(self.lines, world.horizon) if files else None
        return done.wrong + witness.verdict(truth)

    def crashed(self, folder: Path, at: int, mode: str) -> list[str]:
        """Dies at a change; the next run comes to the end with nothing lost or doubled."""
        world, job = self.again(folder)
        victim = world.victims.run(job, Fault(at=at, mode=mode))
        wrong = [] if victim.ended() == -9 else [f"it did not die: {victim.ended()}"]
        return wrong + self.verdict(world, Witness(world).look())

    def refused(self, folder: Path, at: int, error: int) -> list[str]:
        """The disk refuses from a change on; it says so, keeps the data, and goes on later."""
        world, job = self.again(folder)
        victim = world.victims.run(job, Fault(at=at, mode="fail", error=error))
        wrong = []
        if victim.ended() not in (0, *REFUSED):
            said = victim.words.strip().splitlines()[:1]
            wrong.append(f"I13: {errno.errorcode[error]} ends it with {victim.ended()} {said}")
        if victim.ended() and not victim.words.startswith("error["):
            wrong.append("I13: it says nothing")
        if victim.ended() == 0 and len(world.stored()) != len(self.world.stored()):
            wrong.append("I13: it says that all is well, and nothing is kept")
        return wrong + self.verdict(world, Witness(world).look())

    def cut(self, folder: Path, at: int, number: int) -> tuple[list[str], str]:
        """The power fails after so many changes: what is violated, and which disk that left."""
        power = Power(self.before, self.changes)
        digest = power.image(at, Choices("image", number), folder)
        world = self.world.at(folder)
        witness = Witness(world)
        for sink in world.sinks:
            text = power.seen(at, f"store/{sink}").decode("utf-8", "replace")
            witness.note(sink, shown_by(sink, text))
        return self.verdict(world, witness), digest


def _ended(world: World, witness: Witness) -> list[str]:
    """What was published stays, also where nothing can follow."""
    stored: Shown = world.stored()
    lost = [cell for cell, value in witness.look().seen.items() if stored.get(cell) != value]
    return witness.wrong + (
        [f"I4: {lost[0]} was published and is not in the store"] if lost else []
    )


def _step_by_step(world: World, clock: Clock, given: Path, log: Path) -> None:
    clock.set(START.timestamp() + 3600)
    job = world.follow(clock, given if world.source == "-" else None)
    victim = world.victims.start(job, Fault(log=str(log)))
    for day in range(1, world.horizon + 1):
        clock.set(START.timestamp() + day * DAY + 3600)
        world.wait_for(day)
    must_end(victim, Outcome())
