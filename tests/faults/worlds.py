"""A world: a folder with a plan, its events and everything that the program writes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ameles.plan.plan import Plan, read_plan
from ameles.store import open_store
from tests.faults.shim import Clock
from tests.faults.sink_values import Cell as Cell
from tests.faults.sink_values import Values as Values
from tests.faults.sink_values import values_in
from tests.faults.victims import Job, Victim, Victims

START = datetime(2020, 1, 1, tzinfo=UTC)
DAY = 86400
HEADER = "at,who,region\n"
REGIONS = ("north", "south")
FOLDER = "in/*.csv"  # a source: new files in a folder

_COUNTED = """
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "south"] }

[[release]]
name = "daily"
measure = "count"
over = "step"
"""
_FROM_FILE = 'time = "at"\ncolumns = { at = "timestamp", who = "text", region = "text" }\n'
# A row of standard input has a weight, so that a sum tells which rows are in it.
_FROM_INPUT = 'format = "jsonl"\nweight = "n"\ncolumns = { n = "integer", region = "text" }\n'
_PEOPLE = '\n[[release]]\nname = "people"\nmeasure = "distinct"\n'
_FOUND = _COUNTED.replace('region = ["north", "south"]', 'region = "discovered"').replace(
    'over = "step"', 'over = "step"\nby = { region = "discovered" }\nmax_per_key = 2'
)
UNITS = {
    "event": 'unit = "event"\nepsilon = 1',
    "user": 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2\nepsilon = 1',
    "sealed": 'unit = "event"\nintrusions = "one"\nepsilon = 1',
    # so that a few users bring a key to light
    "discovered": 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2\n'
    "epsilon = 200\ndelta = 0.01",
}
SINKS = ("out.csv", "out.jsonl")


def event(day: int, who: int, region: str, second: int = 43200) -> str:
    """A line of the source: someone on a day of the stream, counted from 1."""
    at = START + timedelta(days=day - 1, seconds=second % DAY)
    return f"{at:%Y-%m-%dT%H:%M:%SZ},u{who},{region}\n"


def truth_of(lines: Iterable[str], horizon: int) -> dict[Cell, int]:
    """What a stream of unit event counts if all lines were there before its first step ended."""
    values: dict[Cell, int] = {}
    for step in range(1, horizon + 1):
        values["daily", "", step] = 0
        for region in REGIONS:
            values["visits", region, step] = values.get(("visits", region, step - 1), 0)
        for line in lines:
            at, _, region = line.strip().split(",")
            if (datetime.fromisoformat(at) - START).days + 1 == step:
                values["daily", "", step] += 1
                values["visits", region, step] += 1
    return values


class World:
    """One stream of ``horizon`` days, its source and its sinks.

    ``kind`` is "event", "user", "discovered" (keys, of users) or "sealed"; a sealed stream reads
    standard input.  ``source`` is
    "events.csv", that with a star, ``FOLDER`` or "-".  ``sinks`` are names of files that end in
    csv, jsonl or parquet; without any the noise may be "zero".
    """

    def __init__(
        self,
        folder: Path,
        victims: Victims,
        *,
        kind: str = "event",
        source: str = "events.csv",
        horizon: int = 6,
        noise: str = "removable",
        sinks: tuple[str, ...] = SINKS,
        broken: str = "",
        batch: int = 6,
        buckets: int = 0,
        fresh: bool = True,
    ) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.victims = victims
        self.horizon = horizon
        self.sinks = sinks
        self.source = "-" if kind == "sealed" else source
        self.kind = kind
        read = _FROM_INPUT if self.source == "-" else _FROM_FILE
        vault = '\nvault = "../keys"' if kind == "sealed" else ""
        # The key of a vault is beside the store's folder, and still in the world's.
        self.place = self.folder / "store"
        self.text = (
            f'[stream]\nname = "s"\nsource = "{self.source}"\n{read}'
            f'start = "{START:%Y-%m-%d}"\nevery = "1d"\nhorizon = {horizon}\n'
            f'[privacy]\npopulation = "people"\n{UNITS[kind]}\n'
            f"{_FOUND if kind == 'discovered' else _COUNTED}{_PEOPLE if kind == 'user' else ''}"
            f'[store]\nurl = "s.db"{vault}\n'
        ) + "".join(f'[[sink]]\n{sink.partition(".")[2]} = "{sink}"\n' for sink in sinks)
        self.events = self.place / ("in/1.csv" if source == FOLDER else source.rstrip("*"))
        self._widths = 0
        self.job = Job(
            ["run", "plan.toml", "--yes"],
            self.place,
            noise="system" if kind == "discovered" else noise,  # its noise cannot be removed
            broken=broken,
            batch=batch,
            buckets=buckets,
            root=str(self.folder),
        )
        if fresh:
            self.place.mkdir(parents=True, exist_ok=True)
            (self.place / "plan.toml").write_text(self.text, encoding="utf-8")
            if self.source != "-":
                self.events.parent.mkdir(exist_ok=True)
                self.events.write_text(HEADER, encoding="utf-8")

    def at(self, folder: Path) -> World:
        """The same world in another folder, which has its files."""
        other = object.__new__(World)
        vars(other).update(vars(self))
        other.folder = Path(os.path.realpath(folder))
        other.place = other.folder / "store"
        other.events = other.place / self.events.relative_to(self.place)
        other.job = replace(self.job, folder=other.place, root=str(other.folder))
        return other

    def with_copied_files(self) -> World:
        """Declare with ``--same-file`` that the copied files of this world are the same files."""
        if self.source != "-":
            self.job = replace(self.job, argv=[*self.job.argv, "--same-file", "*"])
        return self

    @property
    def plan(self) -> Plan:
        return read_plan(self.place / "plan.toml")

    @property
    def widths(self) -> int:
        """How many values a step has, if that is known before."""
        if not self._widths and self.kind != "discovered":
            self._widths = sum(release.question.width for release in self.plan.releases)
        return self._widths

    def append(self, lines: Iterable[str]) -> None:
        """More events in the file, or in the newest one of the folder."""
        with self.events.open("a", encoding="utf-8") as file:
            file.write("".join(lines))

    def new_file(self) -> None:
        """The next file of the folder, empty but for its header; events go there from now on."""
        self.events = self.events.with_name(f"{int(self.events.stem) + 1}.csv")
        self.events.write_text(HEADER, encoding="utf-8")

    def rotate(self) -> None:
        """The file gets another name, and a new one takes its place."""
        old = len(list(self.place.glob("events.csv.[0-9]*")))
        self.events.rename(self.events.with_name(f"{self.events.name}.{old + 1}"))
        self.events.write_text(HEADER, encoding="utf-8")

    def replay(self, until: int | None = None) -> Job:
        """``ameles run``: up to the end of a day, or of the last one."""
        end = START + timedelta(days=self.horizon if until is None else until)
        return replace(self.job, argv=[*self.job.argv, "--until", f"{end:%Y-%m-%d}"])

    def follow(self, clock: Clock, stdin: Path | None = None) -> Job:
        """``ameles run --follow`` under a clock."""
        return replace(
            self.job,
            argv=[*self.job.argv, "--follow"],
            clock=str(clock.path),
            stdin=self.job.stdin if stdin is None else str(stdin),
        )

    def released(self) -> int:
        """The last step that the store shows."""
        return max((step for _, _, step in self.stored()), default=0)

    def wait_for(self, step: int, seconds: float = 600.0) -> None:
        """Until the sinks show a step, or the store where there are none."""
        since = time.monotonic()
        while not self.shows(step):
            if time.monotonic() - since > seconds:
                raise TimeoutError(f"Step {step} is not released.")
            time.sleep(0.002)

    def shows(self, step: int) -> bool:
        """Whether all sinks show a step, or the store where there are none."""
        places = (self.sink_values(sink) for sink in self.sinks) if self.sinks else [self.stored()]
        return all(max((cell[2] for cell in each), default=0) >= step for each in places)

    def complete(self) -> Victim:
        """Runs to the end, undisturbed."""
        return self.victims.run(self.replay())

    def stored(self) -> Values:
        """What the store shows; it is not changed by that."""
        if not (self.place / "s.db").exists():
            return {}
        where = f"{(self.place / 's.db').as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(where, uri=True, timeout=600)) as bare:
                asked = "SELECT release, key, step, value FROM releases"
                return {(name, key, step): value for name, key, step, value in bare.execute(asked)}
        except sqlite3.DatabaseError:
            return {}  # its tables are still to be made, or are damaged

    def sink_values(self, sink: str, *, torn: bool = False) -> Values:
        """What a sink shows: its whole records; ``torn`` by a power cut."""
        return values_in(sink, self._content(sink), torn=torn)

    def _content(self, sink: str) -> bytes | dict[str, bytes]:
        place = self.place / sink
        if sink.endswith(".parquet"):
            return {file.name: file.read_bytes() for file in place.glob("*.parquet")}
        try:
            return place.read_bytes()
        except FileNotFoundError:
            return b""

    def spent(self) -> tuple[int, bool]:
        """How many entries the ledger has, and whether it is within its cap."""
        with (
            closing(open_store(str(self.place / "s.db"), create=False)) as store,
            store.reading() as transaction,
        ):
            ledger = transaction.ledger("people")
            if ledger is None:
                return 0, True
            return len(ledger.entries), ledger.spent == ledger.cap

    def check(self) -> None:
        """The store's own look at itself."""
        with closing(open_store(str(self.place / "s.db"), create=False)) as store:
            store.check()
