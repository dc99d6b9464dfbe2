"""Small worlds for tests of the engine: a folder with a file of events, a plan and a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ameles.core.noise import Noise
from ameles.core.release import Release
from ameles.engine.engine import Engine, Report
from ameles.noise import Zero
from ameles.plan.plan import Plan, read_plan_text
from ameles.store import open_store

START = datetime(2026, 1, 1, tzinfo=UTC)
HEADER = "at,who,region,age,amount,fever"
COLUMNS = (
    'columns = { at = "timestamp", who = "text", region = "text", age = "integer", '
    'amount = "number", fever = "boolean" }'
)
EVENT = 'unit = "event"'
USER = 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 3'
WINDOW = 'unit = "user-window"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2\nwindow = "4d"'
COUNT = '[[release]]\nname = "visits"\nmeasure = "count"\nby = { region = ["north", "south"] }\n'


def day(number: int, hour: int = 12) -> datetime:
    """An instant on a day of the stream, counted from 1."""
    return datetime.fromtimestamp(START.timestamp() + (number - 1) * 86400 + hour * 3600, tz=UTC)


def row(
    number: int,
    who: str = "ada",
    region: str = "north",
    age: Any = 40,
    amount: Any = 1,
    fever: Any = "true",
    hour: int = 12,
) -> str:
    """A line of the file: an event on a day of the stream."""
    return f"{day(number, hour):%Y-%m-%dT%H:%M:%SZ},{who},{region},{age},{amount},{fever}"


class World:
    """One plan, one file, one store."""

    def __init__(
        self,
        folder: Path,
        releases: str = COUNT,
        *,
        unit: str = EVENT,
        horizon: int | None = 8,
        epsilon: str = "1",
        stream: str = "",
        rest: str = "",
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        ends = "" if horizon is None else f"horizon = {horizon}"
        self.text = (
            f'[stream]\nname = "s"\nsource = "events.csv"\ntime = "at"\n{COLUMNS}\n'
            f'start = "2026-01-01"\nevery = "1d"\n{ends}\n{stream}\n'
            f'[privacy]\npopulation = "people"\n{unit}\nepsilon = {epsilon}\n'
            f'{releases}\n[store]\nurl = "s.db"\n{rest}\n'
        )
        self.file = folder / "events.csv"

    @property
    def plan(self) -> Plan:
        return read_plan_text(self.text, base=self.folder)

    def write(self, rows: Iterable[str | bytes]) -> World:
        lines = [HEADER, *rows]
        encoded = [line if isinstance(line, bytes) else line.encode() for line in lines]
        self.file.write_bytes(b"\n".join(encoded) + b"\n")
        return self

    def append(self, rows: Iterable[str]) -> World:
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in rows)
        return self

    def run(self, until: int = 8, *, noise: Noise | None = None, **options: Any) -> Report:
        """Closes the steps that have ended when day ``until`` ends; without noise by default."""
        with closing(open_store(str(self.folder / "s.db"))) as store:
            engine = Engine(self.plan, store, noise=Zero() if noise is None else noise, **options)
            return engine.run(day(until + 1, 0))

    def earnest(self, until: int = 8, **options: Any) -> Report:
        """A run with the operating system's noise."""
        with closing(open_store(str(self.folder / "s.db"))) as store:
            return Engine(self.plan, store, **options).run(day(until + 1, 0))

    def releases(self) -> list[Release]:
        with (
            closing(open_store(str(self.folder / "s.db"), create=False)) as store,
            store.reading() as transaction,
        ):
            stream = transaction.stream("s")
            assert stream is not None
            return list(transaction.releases(stream))

    def values(self, release: str = "visits", key: str = "north") -> list[float | None]:
        """A released line, step by step."""
        return [r.value for r in self.releases() if (r.release, r.key) == (release, key)]
