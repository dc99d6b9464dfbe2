"""Events with the same place in a user's order: which one counts does not depend on the reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ameles.core.guarantee import USER
from ameles.core.rules import CURRENT, PLACES
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.plan.plan import Plan
from tests.engine.worlds import World, day


@dataclass(frozen=True)
class Alike:
    """Two events of one user and one instant, whose places are the same for every salt."""

    rules: int
    kind: str
    events: tuple[tuple[object, object], ...]

    @property
    def columns(self) -> str:
        kinds = f'x = "{self.kind}", y = "{self.kind}"'
        return f'columns = {{ at = "timestamp", who = "text", {kinds} }}'

    def release(self, name: str, rest: str) -> str:
        keys = ", ".join(f'"{x}"' for x, _ in self.events).replace("\x1f", "\\u001f")
        return f'[[release]]\nname = "{name}"\n{rest}\nby = {{ x = [{keys}] }}\n'


# DuckDB's hash: the difference of the first column's hash takes that of the second one's away.
HASHED = Alike(PLACES - 1, "integer", ((12345, 678), (-5020621115105272949, 6786746477874753538)))
# SHA-256 of a text in which the first column ends elsewhere.
JOINED = Alike(CURRENT, "text", (("a", "b\x1fc"), ("a\x1fb", "c")))
EVENTS = 'measure = "count"'
DAILY = 'measure = "distinct"\nover = "step"'
EVER = 'measure = "distinct"'
each_law = pytest.mark.parametrize("alike", [HASHED, JOINED], ids=["hashed", "joined"])


class Launched(World):
    """A world whose stream is launched under some rules."""

    def __init__(self, folder: Path, releases: str, unit: str, rules: int) -> None:
        super().__init__(folder, releases, unit=unit)
        self.rules = rules

    @property
    def plan(self) -> Plan:
        return replace(super().plan, rules=self.rules)


class Site:
    """A stream whose only user has the two events on the second day, in one order or the other."""

    def __init__(
        self, folder: Path, alike: Alike, release: str, *, per_step: int = 1, steps: int = 3
    ) -> None:
        bounds = f"max_per_step = {per_step}\nmax_steps = {steps}"
        unit = f'unit = "user"\nuser = "who"\n{bounds}'
        self.world = Launched(folder, alike.release("r", release), unit, alike.rules)
        lines = self.world.text.split("\n")
        self.world.text = "\n".join(alike.columns if "columns" in line else line for line in lines)

    def write(self, events: Sequence[tuple[object, object]]) -> None:
        lines = [f"{day(2):%Y-%m-%dT%H:%M:%SZ},ada,{x},{y}\n" for x, y in events]
        self.world.file.write_text("at,who,x,y\n" + "".join(lines), encoding="utf-8")

    def published(self) -> list[tuple[str, int, str, float | None]]:
        self.world.run(2)
        return [(r.release, r.step, r.key, r.value) for r in self.world.releases()]


@each_law
def test_the_places_are_the_same(alike: Alike, tmp_path: Path) -> None:
    site = Site(tmp_path, alike, EVENTS)
    select = EventSql(site.world.plan).select("events", Moment(0, 8, 8), b"a salt")
    kind = {"integer": "BIGINT", "text": "VARCHAR"}[alike.kind]
    with duckdb.connect() as duck:
        columns = f'"at" TIMESTAMPTZ, who VARCHAR, x {kind}, y {kind}'
        duck.execute(f"CREATE TABLE events ({columns})")
        for pair in alike.events:
            duck.execute("INSERT INTO events VALUES ('2026-01-02 00:00:00Z', 'ada', ?, ?)", pair)
        found = duck.execute(f"SELECT place FROM ({select})").fetchall()
    assert len(found) == 2
    assert len(set(found)) == 1


@each_law
@pytest.mark.parametrize(
    ("release", "per_step", "steps", "kind"),
    [
        pytest.param(EVENTS, 1, 3, "csv", id="held"),
        pytest.param(EVENTS, 1, 3, "parquet", id="held, the crowded alone in order"),
        pytest.param(EVENTS, 1, 8, "parquet", id="passing"),
        pytest.param(DAILY, 2, 3, "csv", id="a user once a step"),
        pytest.param(EVER, 2, 3, "csv", id="a user once"),
        pytest.param(EVENTS, 1, 3, "twice", id="one waits for the other"),
    ],
)
def test_the_order_of_reading_does_not_matter(
    alike: Alike, release: str, per_step: int, steps: int, kind: str, tmp_path: Path
) -> None:
    published = []
    for name, events in (("one", alike.events), ("other", alike.events[::-1])):
        site = Site(tmp_path / name, alike, release, per_step=per_step, steps=steps)
        site.write(events)
        if kind == "twice":
            site.write(events[:1])
            site.world.run(1)
            with site.world.file.open("a", encoding="utf-8") as file:
                x, y = events[1]
                file.write(f"{day(2):%Y-%m-%dT%H:%M:%SZ},ada,{x},{y}\n")
        if kind == "parquet":
            site.world.text = site.world.text.replace("events.csv", "events.parquet")
            read = f"read_csv('{site.world.file}', all_varchar = true)"
            target = site.world.file.with_suffix(".parquet")
            duckdb.sql(f"COPY (SELECT * FROM {read}) TO '{target}'")
        published.append(site.published())
    assert published[0] == published[1]
    assert sum(value or 0 for _, step, _, value in published[0] if step == 2) == 1


def test_nor_does_it_where_rows_come_keyed() -> None:
    bounds = ContributionBounds(
        unit=USER, per_step=1, max_steps=3, lifetime=8, answers=("cell_0", "cell_1"), marks=()
    )
    kept = set()
    with duckdb.connect() as duck:
        here = Bounding(duck, bounds, Moment(0, 8, 8), b"a salt", None)
        for rest in ([True, False], [False, True]):
            rows: Arrays = {
                "key": np.zeros((2, 16), dtype=np.uint8),
                "step": np.ones(2, dtype=np.int64),
                "place": np.full(2, 7, dtype=np.uint64),
                "part": np.zeros(2, dtype=np.uint64),
            }
            for name, missing in (("cell_0", [False, False]), ("cell_1", rest)):
                rows[name] = np.where(missing, 0, 1 + int(name == "cell_1"))
                rows[f"no_{name}"] = np.array(missing)
            with here.keyed(rows) as bounded:
                kept.update(duck.execute(f"SELECT cell_0, cell_1 FROM ({bounded.rows})").fetchall())
    assert kept == {(1, 2)}
