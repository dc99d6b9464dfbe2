"""One stream on one tape, gathered in this process or in tasks, in several deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ameles.core.noise import Noise
from ameles.core.release import Release
from ameles.engine.distributed.bucket_folder import MARK
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.tasks import Tasks
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.engine import Engine
from ameles.noise import System, Tape
from ameles.plan.plan import Plan, read_plan_text
from ameles.store import open_store
from tests.engine.neighbours import Pretender

STEPS = 6
HEADER = "at,who,region,age,amount"
USER = 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 3'
WINDOW = 'unit = "user-window"\nuser = "who"\nwindow = "3d"\nmax_per_step = 2\nmax_steps = 2'
EVENT = 'unit = "event"'
SPRING = "2026-03-27"  # the clock is put forward on the third day
AUTUMN = "2026-10-23"  # and back on the third day
REGIONS = 'by = { region = ["north", "south"] }'
AMOUNT = 'column = "amount"\nlower = -2\nupper = 10\ngranularity = "0.5"'
RELEASES = {
    "visits": f'measure = "count"\n{REGIONS}',
    "daily": f'measure = "count"\nover = "step"\nwhere = "age > 30"\n{REGIONS}',
    "spent": f'measure = "sum"\n{AMOUNT}\n{REGIONS}',
    "each": f'measure = "mean"\nover = "2d"\n{AMOUNT}',
    "ages": 'measure = "histogram"\ncolumn = "age"\nedges = [0, 18, 65]\nover = "step"',
    "middle": 'measure = "quantile"\ncolumn = "age"\nedges = [0, 18, 40, 65]\nq = "0.5"',
    "most": f'measure = "top"\nk = 1\n{REGIONS}',
    "wave": 'measure = "alert"\nover = "step"\nthreshold = 3\ntimes = 2',
}
ONCE = {
    "today": f'measure = "distinct"\nover = "step"\n{REGIONS}',
    "ever": 'measure = "distinct"\nwhere = "amount > 3"',
    "anyone": f'measure = "distinct"\n{REGIONS}',
}


def lines(start: str, delivery: int, count: int = 70) -> list[str]:
    """Rows of a delivery: two days' events with many of some users, late ones, and broken ones."""
    zone, rows = ZoneInfo("Europe/Berlin"), []
    for n in range(count):
        mixed = (n * 2_654_435_761 + delivery * 40_503) % 10_007
        day = 2 * delivery + mixed % 3 - (n % 9 == 0)  # some late, some of a step still open
        hour, who = mixed // 3 % 24, f"user-{min(mixed % 13, mixed % 29)}"
        at = datetime.fromisoformat(start) + timedelta(days=day, hours=hour, minutes=n % 60)
        if n % 2:  # an instant; otherwise a time of the zone, which may exist twice or never
            shown = at.replace(tzinfo=zone).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            shown = at.strftime("%Y-%m-%d %H:%M:%S")
        region = ("north", "south", "nowhere")[mixed % 3]
        rows.append(f"{shown},{who},{region},{mixed % 80},{mixed % 25 / 2 - 1}")
    rows += rows[:4]  # events that are equal
    some = rows[0].split(",")
    rows += [
        ",".join(["not a time", *some[1:]]),
        ",".join([some[0], "", *some[2:]]),
        ",".join([*some[:3], "old", "much"]),
        some[0],
        '"',
    ]
    return rows


@dataclass
class Site:
    """A stream in a folder, with one tape for all of its runs."""

    folder: Path
    unit: str = USER
    late: str = "next"
    start: str = SPRING
    cluster: Cluster | None = None
    tape: Noise = field(default_factory=lambda: Pretender(beyond=System.direct()))
    swapped: bool = False  # whether rows come in another order, in other files
    only: tuple[str, ...] = ()  # the releases of the plan; all by default

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        releases = RELEASES if self.unit == EVENT else {**RELEASES, **ONCE}
        if self.unit == WINDOW:  # a user counts once in a window, or in a step
            releases = {name: text for name, text in releases.items() if name != "anyone"}
        if self.only:
            releases = {name: releases[name] for name in self.only}
        tables = "".join(f'[[release]]\nname = "{n}"\n{text}\n' for n, text in releases.items())
        self.text = (
            '[stream]\nname = "s"\nsource = "*.csv"\ntime = "at"\ncolumns = { at = "timestamp", '
            'who = "text", region = "text", age = "integer", amount = "number" }\n'
            f'start = "{self.start}"\nevery = "1d"\nzone = "Europe/Berlin"\nhorizon = {STEPS}\n'
            f'late = "{self.late}"\n[privacy]\npopulation = "people"\n{self.unit}\nepsilon = 1\n'
            f'{tables}[store]\nurl = "s.db"\n[[sink]]\njsonl = "published.jsonl"\n'
        )

    @property
    def plan(self) -> Plan:
        return read_plan_text(self.text, base=self.folder)

    @property
    def state(self) -> Path:
        """The folder of the stream's files of users."""
        assert self.cluster is not None
        (folder,) = self.cluster.folder.iterdir()
        return folder

    def files(self) -> set[str]:
        """The names of the files of users, without the marks of commits."""
        return {file.name for file in self.state.iterdir() if f"-{MARK}-" not in file.name}

    def deliver(self, delivery: int) -> None:
        """Writes the rows of a delivery, in one file or in two."""
        rows = lines(self.start, delivery)
        parts = [rows[:40][::-1], rows[40:][::-1]] if self.swapped else [rows]
        for number, part in enumerate(reversed(parts)):
            text = "\n".join([HEADER, *part]) + "\n"
            (self.folder / f"{delivery}-{number}.csv").write_text(text, encoding="utf-8")

    def run(self, until: int, **options: Any) -> None:
        """Closes the steps up to one."""
        cut = datetime.fromisoformat(self.start).replace(tzinfo=ZoneInfo("Europe/Berlin"))
        with closing(open_store(str(self.folder / "s.db"))) as store:
            kept = options.pop("store", lambda given: given)(store)
            options = {"noise": self.tape, "cluster": self.cluster, **options}
            Engine(self.plan, kept, **options).run(cut + timedelta(days=until))

    def run_all(self) -> Site:
        """Three deliveries, each after two days; the last run closes what is open."""
        for delivery in range(3):
            self.deliver(delivery)
            self.run(2 * delivery + 1)
        self.run(STEPS)
        return self

    def releases(self) -> list[Release]:
        with (
            closing(open_store(str(self.folder / "s.db"), create=False)) as store,
            store.reading() as transaction,
        ):
            stream = transaction.stream("s")
            assert stream is not None
            return list(transaction.releases(stream))

    def published(self) -> str:
        return (self.folder / "published.jsonl").read_text(encoding="utf-8")


def cluster(folder: Path, buckets: int | None, tasks: Tasks | None = None) -> Cluster:
    """A cluster whose tasks run here."""
    return Cluster(tasks=tasks or TasksHere(), folder=folder / "state", buckets=buckets)


def replayed(tape: Noise) -> Tape:
    """A tape that draws what another one has drawn."""
    assert isinstance(tape, Tape)
    return Pretender(tape.values)


def same(one: Site, others: Sequence[Site]) -> None:
    """Checks that streams published the same, and drew the same noise for it."""
    for other in others:
        assert other.releases() == one.releases()
        assert other.published() == one.published()
        if isinstance(one.tape, Tape) and isinstance(other.tape, Tape):
            assert other.tape.draws == one.tape.draws
