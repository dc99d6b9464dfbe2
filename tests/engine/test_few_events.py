"""A few events that Python adds up: the totals are DuckDB's, whatever the clock and the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.line_blocks import handed_over
from ameles.connectors.text.view import FEW, FewLines
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.exact_totals import AddingUp
from ameles.engine.gathering.few_events import _added, few_totals
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Totals
from tests.engine.worlds import COUNT, World, day, row

SUMS = (
    '[[release]]\nname = "{}"\nmeasure = "sum"\ncolumn = "amount"\n'
    "lower = -5\nupper = 9\ngranularity = 1\n"
)
MEANS = SUMS.replace('"sum"', '"mean"')
WHERE = 'where = "age > 20"\n'
DROP = 'late = "drop"\n'
WEIGHT = 'weight = "age"\n'
MOMENTS = [
    *(Moment(0, 0, 40), Moment(0, 3, 40), Moment(3, 4, 40), Moment(3, 3, 4), Moment(4, 4, 4)),
    *(Moment(0, 0, 40, 1), Moment(3, 4, 40, 4), Moment(3, 4, 40, 2), Moment(3, 4, 4, 5)),
]
ODD = [b"", b"no event", b"2026-01-02T00:00:00Z,a", b"infinity,a,north,1,1,true", b",,,,,"]


def lines() -> list[bytes]:
    """Events before, in and after the steps, at their edges, with all kinds of values."""
    found = [
        row(number, region=region, age=age, amount=amount, hour=hour).encode()
        for number, hour in ((-2, 5), (1, 0), (2, 23), (4, 0), (4, 12), (5, 0), (39, 1), (900, 0))
        for region, age, amount in (
            *(("north", 40, 1), ("south", 7, 4.6), ("west", 30, 2), ("north", "", "")),
            *(("south", 1 << 45, -80), ("north", -(1 << 40), 1e300), ("", "x", "nan")),
        )
    ]
    return [*found, *ODD, day(4).strftime("%Y%m%dT%H%M%SZ,a,south,30,1,true").encode()]


def grouped(totals: dict[str, Totals]) -> dict[str, dict[tuple[int, int], list[int]]]:
    return {
        name: {
            (int(step), int(cell)): amounts.tolist()
            for step, cell, amounts in zip(one.step, one.cell, one.amounts, strict=True)
        }
        for name, one in totals.items()
    }


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
@pytest.mark.parametrize(
    "stream",
    [
        "",
        DROP,
        'zone = "Europe/Rome"\n',
        'zone = "Pacific/Apia"\n',
        WEIGHT,
        "# no time",
        f"{DROP}# no time",
    ],
)
def test_python_adds_up_what_duckdb_would(tmp_path: Path, stream: str, moment: Moment) -> None:
    releases = COUNT
    if stream != WEIGHT:
        releases += COUNT.replace("visits", "old") + WHERE + SUMS.format("sum") + WHERE
        releases += MEANS.format("mean")
    world = World(tmp_path, releases, horizon=40, stream=stream)
    if stream.endswith("no time"):
        world.text = world.text.replace('"events.csv"\ntime = "at"\n', '"-"\n')
    plan = world.plan
    events, duck = EventSql(plan), duckdb.cursor()
    dialect = CsvLines(plan.kinds, plan.form)
    seen = 0
    for some in (lines(), [row(4).encode()], ODD):
        block = b"".join(line + b"\n" for line in some)
        for relation in handed_over(duck, dialect, tuple(plan.stream.columns), [block]):
            assert isinstance(relation, FewLines)
            adding = AddingUp(events, duck)
            adding.add_events(events.select(relation, moment, b"salt"))
            found = grouped(few_totals(events, duck, relation, moment))
            assert found == grouped(adding.totals())
            seen += sum(map(len, found.values()))
    assert seen or moment.released >= moment.last or plan.stream.time is None


def test_sums_go_round_as_those_of_duckdb_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.engine.gathering.event_sql.HEAVIEST", 1 << 62)
    plan = World(tmp_path, stream=WEIGHT).plan
    events, duck = EventSql(plan), duckdb.cursor()
    moment = Moment(0, 1, 8)
    for count in range(1, 6):
        values: list[Any] = [f"({day(1).timestamp():.0f}, 'north', {1 << 62})"] * count
        relation = (
            '(SELECT to_timestamp(a) AS "at", b AS region, c::BIGINT AS age '
            f"FROM (VALUES {', '.join(values)}) AS v(a, b, c))"
        )
        adding = AddingUp(events, duck)
        adding.add_events(events.select(relation, moment, b"salt"))
        assert grouped(few_totals(events, duck, relation, moment)) == grouped(adding.totals())
    (total,) = grouped(adding.totals())["visits"].values()
    assert total == [(5 << 62) - (1 << 64)]


def test_the_steps_of_times_are_those_that_the_query_finds(tmp_path: Path) -> None:
    """In Apia one day of 2011 was left out; the steps around it are there as well."""
    late = ["next", "drop"]
    for zone in ("UTC", "Europe/Rome", "Pacific/Apia"):
        for joins in late:
            world = World(tmp_path, horizon=None, stream=f'zone = "{zone}"\nlate = "{joins}"\n')
            world.text = world.text.replace("2026-01-01", "2011-12-20")
            events, clock = EventSql(world.plan), world.plan.clock
            edges = [clock.start_of(step) for step in range(1, 140)]
            times = [edge + shift for edge in edges for shift in (-1, 0, 1)]
            duck = duckdb.cursor()
            duck.register("times", {"us": np.array(times)})
            for moment in (Moment(0, 5, 120), Moment(9, 11, 120), Moment(10, 11, 12)):
                step, kept = events.counted(moment)
                asked = '(SELECT make_timestamptz(us) AS "at", us FROM times)'
                query = f"SELECT us, CASE WHEN {kept} THEN {step} END FROM {asked}"
                assert duck.execute(query).fetchall() == [
                    *zip(times, events.steps(moment, times), strict=True)
                ]


def test_many_lines_are_not_few() -> None:
    duck, dialect = duckdb.cursor(), CsvLines({"n": "integer"})
    for count in (1, FEW, FEW + 1):
        for relation in handed_over(duck, dialect, ("n",), [b"7\n" * count]):
            assert isinstance(relation, FewLines) == (count <= FEW)


def test_an_event_without_an_amount_adds_nothing() -> None:
    """Each measure has an amount for each event with a cell; an error would tell of one without."""
    totals = _added([(1, (0, 1, 5, None)), (1, (0, 1, 5, 7))], 2, [3, None])
    assert grouped({"sum": totals}) == {"sum": {(1, 5): [7, 2]}}
