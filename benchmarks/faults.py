"""Faults: kill -9, a crash at every change of a file, power cuts, refusing disks; 0 violations.

The program runs in processes of its own, forks of one that has loaded it.  Each part runs on all
cores, for every kind of stream, and prints what was done of what there is to do, and what was
violated; the exit code is 1 if anything was.  ``--notes FILE`` keeps what is done, so that the same
command goes on from there; what is noted of other code does not count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path

import ameles

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.faults import BROKEN, KINDS, Victims, missing_compiler
from tests.faults.crashes import Faults
from tests.faults.kills import life
from tests.faults.rehearsals import Rehearsal
from tests.faults.suite import PARTS, Task, lives_to_live, plan

EVERY = 15.0  # seconds between two lines about progress


@dataclass
class Done:
    """What came of a task."""

    faults: int = 0
    judged: int = 0  # of the disks: those that were not yet
    missed: int = 0
    wrong: list[str] = field(default_factory=list)
    whole: bool = True

    def add(self, other: Done) -> None:
        """Two as one."""
        self.faults += other.faults
        self.judged += other.judged
        self.missed += other.missed
        self.wrong += other.wrong


_REHEARSED: dict[str, Rehearsal] = {}  # before the processes that work are forked
_HELD: dict[str, Faults] = {}  # in one of them
_VICTIMS: list[Victims] = []


def work(task: Task, until: float, args: argparse.Namespace) -> Done:
    """The faults of a task, until the time is over."""
    if not _VICTIMS:
        _VICTIMS.append(Victims())
        Finalize(None, _VICTIMS[0].close, exitpriority=1)
    done = Done()
    with folder() as place:
        if task.part == "kills":
            return lives(task, place, args)
        if task.kind not in _HELD:
            _REHEARSED[task.kind].world.victims = _VICTIMS[0]
            _HELD[task.kind] = Faults(_REHEARSED[task.kind])
        faults = _HELD[task.kind]
        before, missed = len(faults.judged), faults.missed
        for at, how in task.items:
            if time.time() > until:
                done.whole = False
                break
            with failing(done, f"{task.part}, {task.kind}, change {at}, {how}") as wrong:
                wrong += faults.inject(task.part, place / "again", at, how)
            done.faults += 1
            shutil.rmtree(place / "again", ignore_errors=True)
    done.judged, done.missed = len(faults.judged) - before, faults.missed - missed
    return done


def lives(task: Task, place: Path, args: argparse.Namespace) -> Done:
    """Lives of kill -9."""
    done = Done()
    for number, _ in task.items:
        with failing(done, f"kills, life {number}") as wrong:
            outcome = life(number, place / "life", _VICTIMS[0], args.each, broken=args.broken)
            done.faults += outcome.kills
            wrong += outcome.wrong
        shutil.rmtree(place / "life", ignore_errors=True)
    return done


@contextmanager
def failing(done: Done, where: str) -> Iterator[list[str]]:
    """Notes what is violated; also that nothing could be found out, which is no success."""
    wrong: list[str] = []
    try:
        yield wrong
    except Exception as problem:
        wrong.append(f"it could not be judged: {type(problem).__name__} {problem}")
    done.wrong += [f"{where}: {one}" for one in wrong]


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards; in memory, where a sync costs nothing."""
    memory = Path("/", "dev", "shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def rehearse(kinds: list[str], base: Path, broken: str) -> None:
    """Every kind of stream once; all processes put their faults into the same run."""
    with Victims() as victims:
        for kind in kinds:
            rehearsal = KINDS[kind].rehearse(base / kind, victims, broken=broken)
            print(f"  {kind}: {len(rehearsal.changes)} changes of files", flush=True)
            _ = rehearsal.values_seen
            _REHEARSED[kind] = rehearsal


def planned(part: str, args: argparse.Namespace) -> list[Task]:
    """All faults of a part."""
    if part == "kills":
        return lives_to_live(args.seed, 10 * args.kills // args.each)
    return plan(part, _REHEARSED, seed=args.seed, images=args.images, sparse=args.sparse)


class Run:
    """One part, on all cores, with what is noted of it."""

    def __init__(self, part: str, args: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
        self.part = part
        self.done: dict[str, Done] = {}
        self.before = 0  # faults that an earlier run noted
        self._args = args
        self._pool = pool
        self._since = self._told = time.time()
        self._until = self._since + 60 * args.minutes

    @property
    def total(self) -> Done:
        """Of all kinds."""
        total = Done()
        for done in self.done.values():
            total.add(done)
        return total

    def through(self, wanted: list[Task]) -> None:
        """Does all that is not noted, as long as there is time."""
        noted = notes(self._args)
        waiting = iter([task for task in wanted if task.name not in noted])
        for task in wanted:
            if task.name in noted:
                self._add(task, noted[task.name])
        self.before = self.total.faults
        flying: dict[Future[Done], Task] = {}
        while True:
            while len(flying) < self._args.cores + 1 and self._more():
                following = next(waiting, None)
                if following is None:
                    break
                future = self._pool.submit(work, following, self._until, self._args)
                flying[future] = following
            if not flying:
                return
            for future in wait(flying, timeout=EVERY, return_when=FIRST_COMPLETED).done:
                task, done = flying.pop(future), future.result()
                self._add(task, done)
                note(self._args, task, done)
            self._tell(sum(len(task.items) for task in wanted))

    def _more(self) -> bool:
        enough = self.part == "kills" and self.total.faults >= self._args.kills
        return time.time() < self._until and not enough

    def _add(self, task: Task, done: Done) -> None:
        self.done.setdefault(task.kind, Done()).add(done)
        for one in done.wrong:
            print(f"  VIOLATION {one}", flush=True)

    def _tell(self, planned: int) -> None:
        if time.time() - self._told > EVERY:
            self._told = time.time()
            planned = self._args.kills if self.part == "kills" else planned
            print(f"  {self.part} {self.total.faults:,} of {planned:,}", flush=True)

    def summary(self, wanted: list[Task]) -> str:
        """What was done, of what there was to do."""
        total, lines = self.total, []
        planned = dict.fromkeys(self.done, 0)
        for task in wanted:
            planned[task.kind] = planned.get(task.kind, 0) + len(task.items)
        kills = self.part == "kills"
        goal = self._args.kills if kills else sum(planned.values())
        lines.append(
            f"{PARTS[self.part]:34} {total.faults:7,} of {goal:7,}   violations "
            f"{len(total.wrong)}   {time.time() - self._since:.0f} s"
            + (f", {self.before:,} of them noted before" if self.before else "")
        )
        for kind, done in self.done.items():
            told = f"  {kind:32} {done.faults:7,}" + ("" if kills else f" of {planned[kind]:7,}")
            if done.judged:
                told += f"   {done.judged:,} different"
            if done.missed:
                told += f"   {done.missed:,} did not come to their change"
            lines.append(told + f"   violations {len(done.wrong)}")
        return "\n".join(lines)


def code() -> str:
    """Tells the program that is tested from any other; what tests it is no part of it."""
    mark = hashlib.sha256()
    for path in sorted(Path(ameles.__file__).parent.rglob("*")):
        if path.suffix in (".py", ".sql") and path.parent.name != "testing":
            mark.update(path.name.encode() + path.read_bytes())
    return mark.hexdigest()[:16]


def notes(args: argparse.Namespace) -> dict[str, Done]:
    """What was done before, with this code."""
    if not args.notes or not args.notes.exists():
        return {}
    rows = [json.loads(line) for line in args.notes.read_text(encoding="utf-8").splitlines()]
    return {
        row["task"]: Done(**row["done"]) for row in rows if row["code"] == args.code + args.broken
    }


def note(args: argparse.Namespace, task: Task, done: Done) -> None:
    """Keeps a task that is done whole."""
    if args.notes and done.whole:
        row = {"code": args.code + args.broken, "task": task.name, "done": asdict(done)}
        with args.notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[], help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--only", action="append", choices=[*KINDS], help="a kind of stream")
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=20, help="kills in a life")
    parser.add_argument("--images", type=int, default=5_000, help="disks after a power cut")
    parser.add_argument("--sparse", type=int, default=1, help="take only every so many changes")
    parser.add_argument("--minutes", type=float, default=600.0, help="for each part at the most")
    parser.add_argument("--seed", type=int, default=0, help="other images, and other lives")
    parser.add_argument("--notes", type=Path, help="a file that keeps what is done; then go on")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--broken", default="", choices=["", *sorted(BROKEN)], help="a mistake to find"
    )
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    args.code = code()
    return args


def main() -> None:
    """What the command line asks for."""
    args = asked()
    if missing_compiler():
        sys.exit(missing_compiler())
    parts = args.parts or list(PARTS)
    kinds = args.only or list(KINDS)
    violations = 0
    print(f"code {args.code}, seed {args.seed}, {args.cores} processes", flush=True)
    with folder() as base:
        if set(parts) != {"kills"}:
            rehearse(kinds, base, args.broken)
        with ProcessPoolExecutor(args.cores, get_context("fork")) as pool:
            for part in parts:
                run, wanted = Run(part, args, pool), planned(part, args)
                run.through(wanted)
                print(run.summary(wanted), flush=True)
                violations += len(run.total.wrong)
    if code() != args.code:
        print("The code was changed while this ran.", flush=True)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
