"""Events with the same place in a user's order: which one counts does not depend on the reading."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ameles.core.guarantee import USER
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.moment import Moment
from tests.engine.worlds import World, day

# Hashes of DuckDB that are the same for every salt: the difference of the first column's hash takes
# that of the second one's away.
ALIKE = [(12345, 678), (-5020621115105272949, 6786746477874753538)]
COLUMNS = 'columns = { at = "timestamp", who = "text", x = "integer", y = "integer" }'
BY = "by = { x = [" + ", ".join(f'"{x}"' for x, _ in ALIKE) + "] }"
EVENTS = f'[[release]]\nname = "events"\nmeasure = "count"\n{BY}\n'
DAILY = f'[[release]]\nname = "daily"\nmeasure = "distinct"\nover = "step"\n{BY}\n'
EVER = f'[[release]]\nname = "ever"\nmeasure = "distinct"\n{BY}\n'


class Site:
    """A stream whose only user has the two events on the second day, in one order or the other."""

    def __init__(self, folder: Path, releases: str, *, per_step: int = 1, steps: int = 3) -> None:
        bounds = f"max_per_step = {per_step}\nmax_steps = {steps}"
        self.world = World(folder, releases, unit=f'unit = "user"\nuser = "who"\n{bounds}')
        lines = self.world.text.split("\n")
        self.world.text = "\n".join(COLUMNS if "columns" in line else line for line in lines)

    def write(self, events: list[tuple[int, int]]) -> None:
        lines = [f"{day(2):%Y-%m-%dT%H:%M:%SZ},ada,{x},{y}\n" for x, y in events]
        self.world.file.write_text("at,who,x,y\n" + "".join(lines), encoding="utf-8")

    def published(self) -> list[tuple[str, int, str, float | None]]:
        self.world.run(2)
        return [(r.release, r.step, r.key, r.value) for r in self.world.releases()]


def test_the_places_are_the_same() -> None:
    hashed = "SELECT hash('a salt', TIMESTAMPTZ '2026-01-02', 'ada', ?::BIGINT, ?::BIGINT)"
    assert len({duckdb.execute(hashed, list(one)).fetchall()[0] for one in ALIKE}) == 1


@pytest.mark.parametrize(
    ("releases", "per_step", "steps", "kind"),
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
    releases: str, per_step: int, steps: int, kind: str, tmp_path: Path
) -> None:
    published = []
    for name, events in (("one", ALIKE), ("other", ALIKE[::-1])):
        site = Site(tmp_path / name, releases, per_step=per_step, steps=steps)
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
        for cells in ("(1, NULL), (1, 2)", "(1, 2), (1, NULL)"):
            place = "SELECT 1::BIGINT AS step, 'k'::BLOB AS key, 7::UBIGINT AS place, 0 AS part"
            rows = f"{place}, * FROM (VALUES {cells}) AS answers(cell_0, cell_1)"
            with here.keyed(rows) as bounded:
                kept.update(duck.execute(f"SELECT cell_0, cell_1 FROM ({bounded.rows})").fetchall())
    assert kept == {(1, 2)}
