"""Faults: kill -9, a crash at every change of a file, power cuts, refusing disks; 0 violations.

The program runs in processes of its own, forks of one that has loaded it.  Each part runs on all
cores and prints what was done and what was violated; the exit code is 1 if anything was.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

from ameles.testing import BROKEN, Choices, Victims, World, missing_compiler
from ameles.testing.crashes import ERRORS, MODES, Rehearsal
from ameles.testing.kills import life

REHEARSED = ("event", "user", "sealed")
CUT = ("event", "user", "sealed", "event")  # their steps are released one by one under a clock
Found = tuple[int, list[str], set[str]]  # how many, what was violated, which disks


def kills(part: int, parts: int, args: argparse.Namespace) -> Found:
    """Lives of kill -9, until there were enough."""
    done = 0
    wrong: list[str] = []
    with Victims() as victims, folder() as base:
        number = part
        while done < args.kills / parts and time.monotonic() < args.until:
            outcome = life(number, base / str(number), victims, args.each, broken=args.broken)
            shutil.rmtree(base / str(number))
            done += outcome.kills
            wrong += [f"life {number}: {one}" for one in outcome.wrong]
            number += parts
    return done, wrong, set()


def crashes(part: int, parts: int, args: argparse.Namespace) -> Found:
    """Every change, before, amid and after it."""
    return each_change(part, parts, args, MODES, Rehearsal.crashed)


def refusals(part: int, parts: int, args: argparse.Namespace) -> Found:
    """A disk that is full, broken or read-only from every change on."""
    return each_change(part, parts, args, ERRORS, Rehearsal.refused)


def each_change(
    part: int,
    parts: int,
    args: argparse.Namespace,
    modes: tuple[object, ...],
    test: Callable[..., list[str]],
) -> Found:
    """A test of every change of every rehearsed run, in each mode."""
    done = 0
    wrong: list[str] = []
    with Victims() as victims, folder() as base:
        for kind in REHEARSED:
            rehearsal = Rehearsal.of(
                World(base / kind, victims, kind=kind, horizon=4, broken=args.broken)
            )
            for at in range(1 + part, len(rehearsal.changes) + 1, parts * args.sparse):
                for mode in modes:
                    if time.monotonic() > args.until:
                        return done, wrong, set()
                    found = test(rehearsal, base / "again", at, mode)
                    what = f"{kind}, {mode} change {at} ({rehearsal.changes[at - 1].path})"
                    wrong += [f"{what}: {one}" for one in found]
                    shutil.rmtree(base / "again")
                    done += 1
    return done, wrong, set()


def cuts(part: int, parts: int, args: argparse.Namespace) -> Found:
    """Power cuts: disks of which unsynced writes are dropped, reordered or torn."""
    done = 0
    wrong: list[str] = []
    disks: set[str] = set()
    with Victims() as victims, folder() as base:
        for turn, kind in enumerate(CUT):
            place = base / f"{kind}{turn}"
            world = World(place, victims, kind=kind, horizon=4, batch=3, broken=args.broken)
            rehearsal = Rehearsal.of(world, follow=True)
            choices = Choices("cut", part, turn)
            for _ in range(args.images // (parts * len(CUT))):
                if time.monotonic() > args.until:
                    return done, wrong, disks
                at = choices.below(len(rehearsal.changes) + 1)
                number = choices.below(1 << 60)
                found, disk = rehearsal.cut(base / "cut", at, number)
                disks.add(disk)
                wrong += [f"{kind}, power cut {number} after change {at}: {one}" for one in found]
                shutil.rmtree(base / "cut")
                done += 1
    return done, wrong, disks


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards; in memory, where a sync costs nothing."""
    memory = Path("/", "dev", "shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def shared(args: argparse.Namespace, work: Callable[..., Found]) -> Iterator[Found]:
    """One part of the work for each core."""
    with ProcessPoolExecutor(args.cores) as pool:
        yield from pool.map(work, range(args.cores), repeat(args.cores), repeat(args))


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[], help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=20, help="kills in a life")
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--sparse", type=int, default=1, help="take only every so many changes")
    parser.add_argument("--minutes", type=float, default=600.0, help="for each part at the most")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--broken", default="", choices=["", *sorted(BROKEN)], help="a mistake to find"
    )
    args = parser.parse_args()
    if missing_compiler():
        sys.exit(missing_compiler())
    wrong = []
    for name in args.parts or PARTS:
        args.until = time.monotonic() + 60 * args.minutes
        since = time.monotonic()
        found = list(shared(args, PARTS[name][1]))
        violations = [one for _, some, _ in found for one in some]
        disks = set().union(*(some for _, _, some in found))
        print(
            f"{PARTS[name][0]:32} {sum(done for done, _, _ in found):8,}"
            + (f" ({len(disks):,} different)" if disks else "")
            + f"   violations {len(violations)}   {time.monotonic() - since:.0f} s",
            flush=True,
        )
        for one in violations[:20]:
            print(f"  {one}", flush=True)
        wrong += violations
    sys.exit(1 if wrong else 0)


PARTS: dict[str, tuple[str, Callable[..., Found]]] = {
    "kills": ("kill -9 at a random instant", kills),
    "crashes": ("crashes at a change of a file", crashes),
    "refusals": ("changes that the disk refuses", refusals),
    "cuts": ("power cuts", cuts),
}

if __name__ == "__main__":
    main()
