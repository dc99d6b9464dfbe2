"""Crashes at every change of a file, power cuts and refusing disks: the next run must go on.

A run is rehearsed once, and its changes of files are recorded.  For a crash or a power cut, the
disk is computed from the recorded changes, so the program need not run again; equal disks are
judged once.  For a process that dies at a change, or whose change the disk refuses, the program
runs up to there.
"""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path

from tests.faults.choices import Choices
from tests.faults.disk_images import Disk, DiskImages, digest, lay_out
from tests.faults.input_rows import BASE
from tests.faults.kills import Outcome, must_end
from tests.faults.rehearsals import ROWS, Rehearsal
from tests.faults.removable_noise import MILLION
from tests.faults.shim import Fault
from tests.faults.sink_values import Values
from tests.faults.witness import Witness
from tests.faults.worlds import REGIONS, World, truth_of

MODES = ("before", "torn", "after")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
REFUSED = (1, 4)  # what a sink or the store refuses
EPOCH = "epoch"  # a torn key slot ends it, and nothing else does


class Faults:
    """The faults of one rehearsed run."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        self.epochs = 0  # of vaults, that were ended
        self.missed = 0  # changes at which the program should have died, and did not come to
        self.judged: dict[tuple[str, int], list[str]] = {}
        self._images = DiskImages(rehearsal.before, rehearsal.changes)
        self._kept = rehearsal.world.stored()

    def inject(self, part: str, folder: Path, at: int, how: str) -> list[str]:
        """Inject one of the faults below, by the name of its part in ``./run bench faults``."""
        match part:
            case "crashes":
                return self.crash(folder, at, how)
            case "deaths":
                return self.death(folder, at, how)
            case "cuts":
                return self.power_cut(folder, at, int(how))
            case "refusals":
                return self.refusal(folder, at, getattr(errno, how))
        raise ValueError(part)

    def crash(self, folder: Path, at: int, mode: str) -> list[str]:
        """Judge the disk after a crash at a change: the next run must lose and double nothing."""
        seen = at if mode == "after" else at - 1
        return self._judge(folder, self._images.after_crash(at, mode), seen, torn=False)

    def power_cut(self, folder: Path, at: int, number: int) -> list[str]:
        """Judge a disk that a power cut after ``at`` changes may leave."""
        disk = self._images.after_power_cut(at, Choices("image", number))
        return self._judge(folder, disk, at, torn=True)

    def death(self, folder: Path, at: int, mode: str) -> list[str]:
        """Let the program itself die at one of its own changes, and judge what it leaves."""
        world = self.rehearsal.again(folder)
        victim = self.rehearsal.live(world, Fault(at=at, mode=mode))
        wrong = [] if victim.ended() in (-9, 0) else [f"it did not die: {victim.ended()}"]
        self.missed += victim.ended() == 0  # followed, it may do in one step what it did in two
        return wrong + self._verdict(world, Witness(world).look())

    def refusal(self, folder: Path, at: int, error: int) -> list[str]:
        """Refuse all changes from one on: the program says so, keeps its data and goes on later."""
        world = self.rehearsal.again(folder)
        victim = self.rehearsal.live(world, Fault(at=at, mode="fail", error=error))
        wrong = []
        if victim.ended() not in (0, *REFUSED):
            said = victim.words.strip().splitlines()[:1]
            wrong.append(f"I13: {errno.errorcode[error]} ends it with {victim.ended()} {said}")
        if victim.ended() and "error[" not in victim.words:
            wrong.append("I13: it says nothing")
        if "error[bug]" in victim.words:
            bug = victim.words[victim.words.index("error[bug]") :].splitlines()[0]
            wrong.append(f"I13: it did not expect {errno.errorcode[error]}: {bug}")
        if victim.ended() == 0 and len(world.stored()) != len(self._kept):
            wrong.append("I13: it says that all is well, and nothing is kept")
        return wrong + self._verdict(world, Witness(world).look())

    def _judge(self, folder: Path, disk: Disk, at: int, *, torn: bool) -> list[str]:
        """What is wrong with a disk, if anybody has seen the sinks up to a change."""
        seen = self.rehearsal.values_seen
        key = digest(disk), _earliest(seen, at)
        if key not in self.judged:
            lay_out(disk, folder)
            world = self.rehearsal.world.at(folder).with_copied_files()
            witness = Witness(world)
            witness.note("a sink", seen[at])
            self.judged[key] = self._verdict(world, witness.look(torn=torn))
        return self.judged[key]

    def _verdict(self, world: World, witness: Witness) -> list[str]:
        """Runs to the end, and says what is violated."""
        done = Outcome()
        self.rehearsal.grow(world)
        ended = world.complete()
        if world.kind == "sealed" and ended.ended() == 4 and EPOCH in ended.words:
            self.epochs += 1
            return _ended(world, witness)
        must_end(ended, done)
        truth, totals = self._truth(world)
        return done.wrong + witness.verdict(truth, totals) + _doubled(world)

    def _truth(self, world: World) -> tuple[Values | None, dict[str, int] | None]:
        lines = self.rehearsal.lines
        if world.source == "-" or world.job.noise != "removable":
            return None, None
        if world.kind == "user":
            # which events of a user are kept is up to a salt, and how many is not
            daily = {cell: value for cell, value in self._kept.items() if cell[0] != "visits"}
            return None if self.rehearsal.follow else daily, None
        if self.rehearsal.follow:
            count = Counter(line.strip().rpartition(",")[2] for line in lines)
            return None, {region: count[region] for region in REGIONS}
        return dict(truth_of(lines, world.horizon)), None


def _earliest(seen: list[Values], at: int) -> int:
    """The first change after which the sinks had shown as much."""
    while at and seen[at] is seen[at - 1]:
        at -= 1
    return at


def _doubled(world: World) -> list[str]:
    """Rows of standard input may be lost by a crash, and never count twice."""
    if world.source != "-" or world.job.noise != "removable":
        return []
    daily = [value % MILLION for cell, value in world.stored().items() if cell[0] == "daily"]
    twice = any(int(sum(daily)) // BASE**row % BASE > 1 for row in range(ROWS))
    return ["I3: a row of standard input was counted twice"] if twice else []


def _ended(world: World, witness: Witness) -> list[str]:
    """What was published stays, also where nothing can follow."""
    stored: Values = world.stored()
    lost = [cell for cell, value in witness.look().seen.items() if stored.get(cell) != value]
    return witness.wrong + (
        [f"I4: {lost[0]} was published and is not in the store"] if lost else []
    )
