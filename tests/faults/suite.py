"""The suite: the kinds of streams that faults are put into, and all faults of each part."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from tests.faults.choices import Choices
from tests.faults.crashes import ERRORS, MODES
from tests.faults.kills import WAYS
from tests.faults.rehearsals import Rehearsal
from tests.faults.victims import Victims
from tests.faults.worlds import FOLDER, SINKS, World


@dataclass(frozen=True, slots=True)
class Kind:
    """A world, and whether it is run in one go or followed."""

    kind: str = "event"
    source: str = "events.csv"
    sinks: tuple[str, ...] = SINKS
    follow: bool = False
    buckets: int = 0

    def rehearse(
        self, folder: Path, victims: Victims, *, horizon: int = 3, broken: str = ""
    ) -> Rehearsal:
        """One run to its end, in this folder."""
        world = World(
            folder,
            victims,
            kind=self.kind,
            source=self.source,
            sinks=self.sinks,
            horizon=horizon,
            broken=broken,
            buckets=self.buckets,
        )
        return Rehearsal.of(world, follow=self.follow)


CSV, JSONL, PARQUET = ("out.csv",), ("out.jsonl",), ("out.parquet",)
KINDS: dict[str, Kind] = {
    "file": Kind(),
    "users": Kind(kind="user", sinks=CSV),
    "discovered keys": Kind(kind="discovered", sinks=CSV),
    "parquet": Kind(sinks=PARQUET),
    "sealed": Kind(kind="sealed", sinks=CSV),
    "growing": Kind(sinks=CSV, follow=True),
    "growing users": Kind(kind="user", sinks=JSONL, follow=True),
    "growing buckets": Kind(kind="user", sinks=CSV, follow=True, buckets=2),
    "growing parquet": Kind(sinks=PARQUET, follow=True),
    "folder": Kind(source=FOLDER, sinks=JSONL, follow=True),
    "input": Kind(source="-", sinks=CSV, follow=True),
    "sealed input": Kind(kind="sealed", sinks=JSONL, follow=True),
}
PARTS = {
    "crashes": "disks after a crash at a change",
    "deaths": "processes that die at a change",
    "cuts": "disks after a power cut",
    "refusals": "changes that the disk refuses",
    "kills": "kill -9 at a random instant",
}
CHUNK = 24
Item: TypeAlias = tuple[int, str]  # a change and how it fails, as ``Faults.inject`` takes them


@dataclass(frozen=True, slots=True)
class Task:
    """A few faults of one part and kind."""

    part: str
    kind: str
    items: tuple[Item, ...]

    @property
    def name(self) -> str:
        """The same in every run with the same arguments."""
        inside = hashlib.sha256(repr(self.items).encode()).hexdigest()[:16]
        return f"{self.part}/{self.kind}/{inside}"


def plan(
    part: str,
    rehearsals: Mapping[str, Rehearsal],
    *,
    seed: int = 0,
    images: int = 5_000,
    sparse: int = 1,
) -> list[Task]:
    """All faults of a part, the kinds by turns, so that a part of them has some of each.

    Power cuts are ``images`` in all, in streams that are followed; of changes every ``sparse``-th
    is taken.
    """
    kinds = [kind for kind in rehearsals if part != "cuts" or KINDS[kind].follow]
    by_kind = []
    for kind in kinds:
        if part == "cuts":
            items = _cuts(kind, rehearsals[kind], seed, -(-images // len(kinds)))
        else:
            items = _changes(part, rehearsals[kind], sparse)
        chunks = [tuple(items[n : n + CHUNK]) for n in range(0, len(items), CHUNK)]
        if part == "cuts":
            Choices("order", seed).shuffle(chunks)
        by_kind.append([Task(part, kind, chunk) for chunk in chunks])
    return [task for some in zip_longest(*by_kind) for task in some if task is not None]


def lives_to_live(seed: int, count: int) -> list[Task]:
    """Lives of kill -9, one each."""
    numbers = range(seed * 1_000_000, seed * 1_000_000 + count)
    return [Task("kills", WAYS[number % len(WAYS)], ((number, ""),)) for number in numbers]


def _cuts(kind: str, rehearsal: Rehearsal, seed: int, count: int) -> list[Item]:
    choices = Choices("cuts", kind, seed)
    # in order, because disks that are the same are near each other
    places = sorted(choices.below(len(rehearsal.changes) + 1) for _ in range(count))
    return [(at, str(choices.below(1 << 60))) for at in places]


def _changes(part: str, rehearsal: Rehearsal, sparse: int) -> list[Item]:
    if part == "crashes":
        places = range(1, len(rehearsal.changes) + 1, sparse)
        return [(at, mode) for at in places for mode in MODES]
    hows = MODES if part == "deaths" else tuple(errno.errorcode[error] for error in ERRORS)
    places = range(1, rehearsal.own + 1, sparse)
    # three times through all of them, each time another way
    return [(at, hows[(at + turn) % 3]) for turn in range(3) for at in places]
