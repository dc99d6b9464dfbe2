"""Rehearsals: one run of a fresh world to its end, and all changes of files that it made.

A run that follows its stream gets its events day by day, some late, some lines in two pieces.
These changes of the source are recorded among those of the program.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tests.faults.disk_images import Change, Disk, DiskImages, add_changes, read_changes
from tests.faults.input_rows import BASE
from tests.faults.kills import Outcome, must_end
from tests.faults.shim import Clock, Fault
from tests.faults.sink_values import Values, values_in
from tests.faults.victims import Job, Victim
from tests.faults.worlds import DAY, FOLDER, HEADER, REGIONS, START, World, event

ROWS = 6  # of standard input
PATIENCE = 600.0  # seconds for a step


@dataclass
class Rehearsal:
    """What a run did; the faults of ``tests.faults.crashes`` are put into it."""

    world: World
    follow: bool
    before: Disk
    first: Path  # the file of the source that was there
    changes: list[Change] = field(default_factory=list, repr=False)
    lines: list[str] = field(default_factory=list, repr=False)
    source: Disk = field(default_factory=dict, repr=False)  # as it is in the end

    @classmethod
    def of(cls, world: World, *, follow: bool = False) -> Rehearsal:
        """Rehearses in this world; ``follow``: step by step under a clock."""
        log = world.folder.with_suffix(".log")
        log.unlink(missing_ok=True)
        if world.source != "-" and follow:
            _grow(world, 1)
        elif world.source != "-":
            world.append(_lines(24, range(1, world.horizon + 1)))
        rehearsal = cls(world, follow, DiskImages.files(world.folder), world.events)
        must_end(rehearsal.live(world, Fault(log=str(log))), done := Outcome())
        if done.wrong:
            raise RuntimeError(done.wrong[0])
        rehearsal.changes = read_changes(log)
        rehearsal.source = _sources(world)
        for content in rehearsal.source.values():
            rehearsal.lines += content.decode().removeprefix(HEADER).splitlines(keepends=True)
        return rehearsal

    def again(self, folder: Path) -> World:
        """The world as it was before, elsewhere."""
        for path, content in self.before.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / path).write_bytes(content)
        world = self.world.at(folder)
        world.events = world.folder / self.first.relative_to(self.world.folder)
        return world

    def live(self, world: World, fault: Fault) -> Victim:
        """The same run, with a fault: how it ends."""
        given = world.folder.with_suffix(".input")
        if world.source == "-":
            rows = [{"n": BASE**n, "region": REGIONS[n % 2]} for n in range(ROWS)]
            given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if not self.follow:
            job = world.replay()
            if world.source == "-":
                job = replace(job, stdin=str(given))
            return world.victims.run(job, fault)
        clock = Clock(world.folder.with_suffix(".clock"))
        clock.set(START.timestamp() + 3600)
        job = world.follow(clock, given if world.source == "-" else None)
        return _step_by_step(world, clock, job, fault)

    @property
    def own(self) -> int:
        """How many of the changes are the program's, and not those of who writes the source."""
        others = {*self.source, *(str(Path(path).parent) for path in self.source)} - {"store"}
        return sum(change.path not in others for change in self.changes)

    @cached_property
    def values_seen(self) -> list[Values]:
        """What anybody has seen in the sinks by each change, in its order; first before all."""
        images = DiskImages(self.before, self.changes)
        sinks = {f"store/{sink}": sink for sink in self.world.sinks}
        seen: list[Values] = [{}]
        for at, change in enumerate(self.changes, 1):
            touched = {
                path
                for path in sinks
                for changed in (change.path, change.other)
                if changed == path or changed.startswith(f"{path}/")
            }
            if not touched:
                seen.append(seen[-1])
                continue
            path = touched.pop()
            values = values_in(sinks[path], images.seen(at, path))
            new = {cell: value for cell, value in values.items() if seen[-1].get(cell) != value}
            # a cell that had another value keeps both, which no store has
            seen.append(
                seen[-1] | {c: (seen[-1][c], v) if c in seen[-1] else v for c, v in new.items()}
            )
        return seen

    def grow(self, world: World) -> None:
        """The rest of the source comes, as it would have without a fault."""
        for path, content in self.source.items():
            place = world.folder / path
            place.parent.mkdir(exist_ok=True)
            size = place.stat().st_size if place.exists() else 0
            with place.open("ab") as file:
                file.write(content[size:])


def _lines(count: int, days: range) -> list[str]:
    return [event(days[n % len(days)], n % 5, REGIONS[n % 3 % 2], n * 4001) for n in range(count)]


def _of_day(day: int, horizon: int) -> tuple[str, str]:
    """What comes on a day, and its last bytes, which come on the next: a step ends amid a line."""
    text = "".join(_lines(5, range(day, day + 1)) + _lines(2, range(max(1, day - 1), day + 1)))
    cut = len(text) - (9 if day < horizon else 0)
    return text[:cut], text[cut:]


def _grow(world: World, day: int, log: str = "") -> None:
    """The source gets what comes on a day, and that is written down."""
    before = _sources(world)
    if day > 1:
        world.append([_of_day(day - 1, world.horizon)[1]])
        if world.source == FOLDER:
            world.new_file()
    world.append([_of_day(day, world.horizon)[0]])
    changes = []
    for path, content in _sources(world).items() if log else ():
        old = before.get(path)
        if old is None:
            changes.append(Change("create", path, "", 0, b""))
        if content != old:
            size = len(old or b"")
            changes.append(Change("write", path, "", size, content[size:]))
            synced = [path] if old is not None else [path, str(Path(path).parent)]
            changes += [Change("sync", place, "", 0, b"") for place in synced]
    if changes:
        add_changes(Path(log), changes)


def _sources(world: World) -> Disk:
    if world.source == "-":
        return {}
    return {
        str(path.relative_to(world.folder)): path.read_bytes()
        for path in sorted(world.events.parent.glob("*.csv"))
        if path.name not in world.sinks
    }


def _step_by_step(world: World, clock: Clock, job: Job, fault: Fault) -> Victim:
    victim = world.victims.start(job, fault)
    for day in range(1, world.horizon + 1):
        if day > 1 and world.source != "-":
            _grow(world, day, fault.log)
        clock.set(START.timestamp() + day * DAY + 3600)
        since = time.monotonic()
        while victim.alive and not world.shows(day):
            if fault.mode == "fail" and world.released() >= day:
                break  # a sink that the disk refuses is tried again with the next step
            if time.monotonic() - since > PATIENCE:
                victim.send(signal.SIGABRT)  # it hangs, which is no end that it may have
            time.sleep(0.002)
        if not victim.alive:
            break
    victim.ended()
    return victim
