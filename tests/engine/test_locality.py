"""Locality: one line more changes its own cell, by what is declared, and nothing else at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from ameles.connectors.text import line_blocks
from tests.connectors.parquet.test_hostile_times import TYPES, column, pa, pq
from tests.engine.crowds import (
    ANYWHERE,
    FIRST,
    LATES,
    LINES,
    NORTH,
    NOWHERE,
    OTHER,
    SECOND,
    SOMEWHERE,
    line,
    with_eve,
    with_line,
)
from tests.engine.neighbours import (
    BOUNDS,
    ONCE,
    REACH,
    UNITS,
    Line,
    Pretender,
    Site,
    View,
    _replaced,
    check,
    command,
    violations,
)

# Those that count nowhere must not show even all at once, under every unit: see below.
ALONE = (
    "an event",
    "early",
    "in an open step",
    "in quotes",
    "an undeclared key",
    "invalid UTF-8 in a key",
    "no key",
    "no age",
    "no amount",
    "an age of 2**63 - 1",
    "an amount of 1e308",
    "an amount that is NaN",
    "in the hour that was left out",
    "the first moment after it",
)
# Each at another place of the file, in one of its two parts, under one of the units.
CASES = [
    pytest.param(name, [*BOUNDS][n % 3], LATES[n % 2], 1 + n // 2 % 2, id=name)
    for n, name in enumerate(ALONE)
]


class Sites:
    """Sites with what they show as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[Any, tuple[Site, View]] = {}

    def get(self, unit: str, late: str) -> tuple[Site, View]:
        if (unit, late) not in self.known:
            folder = self.folder / f"{unit}-{late}"
            folder.mkdir()
            site = Site(folder, unit, late)
            self.known[unit, late] = site, site.view("base", FIRST, SECOND)
        return self.known[unit, late]


def views(site: Site, name: str, first: list[bytes], second: list[bytes]) -> list[View]:
    """What is seen if Python adds up the few events, and if DuckDB does; users are DuckDB's."""
    seen = [site.view(name, first, second)]
    if site.unit == "event":
        with mock.patch.object(line_blocks, "FEW", 0):
            seen.append(site.view(f"{name} in DuckDB", first, second))
    return seen


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites(tmp_path_factory.mktemp("sites"))


def test_the_site_shows_something(sites: Sites) -> None:
    for unit in BOUNDS:
        site, base = sites.get(unit, "next")
        assert base.exits == [0, 0]
        assert base.laws
        assert base.rows[0][0] == "stream"
        for name in site.names:
            assert np.abs(base.inputs[name]).sum() > 5, name
            assert len(base.inputs[name]) == 5, name


def test_declared_bounds_are_those_that_the_noise_is_made_for(sites: Sites) -> None:
    for unit, (steps, per_step) in BOUNDS.items():
        site, _ = sites.get(unit, "next")
        plan = site.plan(sites.folder)
        for name in site.names:
            declared = plan.recipes[name].guarantee.contribution
            most = ONCE[name] or steps if name in ONCE else steps * per_step * REACH[name]
            assert declared.steps * declared.bound == most, (unit, name)


@pytest.mark.parametrize(("name", "unit", "late", "part"), CASES)
def test_one_line_more(sites: Sites, name: str, unit: str, late: str, part: int) -> None:
    site, base = sites.get(unit, late)
    more = LINES[name]
    for other in views(site, name, *with_line(more.text, part)):
        assert check(site, base, other, more, part) == []
        if (landed := more.lands(part, late)) is not None and landed <= 5:
            assert other.rows != base.rows  # it counts


@pytest.mark.parametrize("late", LATES)
@pytest.mark.parametrize("unit", BOUNDS)
def test_all_that_counts_nowhere_at_once(sites: Sites, unit: str, late: str) -> None:
    site, base = sites.get(unit, late)
    first = [some for pair in zip(FIRST, [*NOWHERE.values()] * 9, strict=False) for some in pair]
    second = [some for pair in zip([*NOWHERE.values()] * 9, SECOND, strict=False) for some in pair]
    for other in views(site, "nowhere", first, second):
        assert violations(site, base, other, keys=frozenset(), step=1) == []


@pytest.mark.parametrize("unit", BOUNDS)
def test_all_that_counts_at_once(sites: Sites, unit: str) -> None:
    """Each of a user of its own, so that each may move as much as one unit."""
    site, base = sites.get(unit, "next")
    more = [
        some.text.replace(b"zo", b"zo%d" % number) for number, some in enumerate(SOMEWHERE.values())
    ]
    for other in views(site, "somewhere", [*more[::2], *FIRST], [*more[1::2], *SECOND]):
        problems = violations(site, base, other, keys=NORTH | OTHER, step=1, times=len(more))
        assert problems == []
        daily = (other.inputs["daily"] - base.inputs["daily"]).sum(axis=0)
        assert daily.tolist() == [sum(n) for n in zip(*_counted(), strict=True)]


def _counted() -> Iterator[tuple[int, int, int, int]]:
    """Where each of them counts, if its step has closed."""
    for some in SOMEWHERE.values():
        if some.step <= 5:
            north = int(some.keys == NORTH)
            yield north, 0, 0, 1 - north


@pytest.mark.parametrize("unit", ["user", "user-window"])
def test_events_without_a_user_count_nowhere(sites: Sites, unit: str) -> None:
    site, base = sites.get(unit, "next")
    first, second = with_line(line(who=""), 1)
    broken = [line(who="zoe").replace(b"zoe", name) for name in (b"zo\xff", b"\xff\xff", b"\xc3")]
    other = site.view("nobody", [*first, *broken], [line(2, who=""), *second])
    assert violations(site, base, other, keys=frozenset(), step=1) == []


@pytest.mark.parametrize("late", LATES)
@pytest.mark.parametrize("unit", ["user", "user-window"])
def test_one_user_more_with_all_events(sites: Sites, unit: str, late: str) -> None:
    site, base = sites.get(unit, late)
    other = site.view("eve", *with_eve())
    assert violations(site, base, other, keys=ANYWHERE, step=1) == []
    # The bound is no larger than it must be: this user uses all of it.
    moved = np.abs(other.inputs["daily"] - base.inputs["daily"]).sum()
    steps, per_step = BOUNDS[unit]
    closed = steps if unit == "user" else steps + 1  # of the second window one step has closed
    assert moved == closed * per_step


def test_an_event_of_a_known_user_moves_that_user_alone(sites: Sites) -> None:
    site, base = sites.get("user", "next")  # u0 and its like are at home in the north
    other = site.view("known", *with_line(line(2, who="u0", region="south"), 1))
    own = frozenset({"north", "south"})
    assert violations(site, base, other, keys=own, step=2, times=2) == []


WEIGHTS = {
    "of many": Line(line() + b",1000", NORTH, 4, weight=1000),
    "that takes away": Line(line() + b",-3", NORTH, 4, weight=-3),
    "the most": Line(line() + b",%d" % (1 << 40), NORTH, 4, weight=1 << 40),
    "more than that": Line(line() + b",%d" % (1 + (1 << 40)), NORTH, 4, weight=1 << 40),
    "of 30 digits": Line(line() + b",-" + b"1" * 30, NORTH, 4, weight=-1 << 40),
}
NO_WEIGHTS = [
    line() + b"," + weight
    for weight in (
        b"",
        b"many",
        b"1.5",
        b"nan",
    )
]


def test_weights(tmp_path: Path) -> None:
    site = Site(tmp_path, "event", weighed=True)
    first, second = ([some + b",2" for some in part] for part in (FIRST, SECOND))
    base = site.view("base", first, second)
    for number, (name, more) in enumerate(WEIGHTS.items()):
        other = site.view(str(number), [*first[:number], more.text, *first[number:]], second)
        assert check(site, base, other, more, 1) == [], name
        assert other.rows != base.rows, name
    other = site.view("none", [*NO_WEIGHTS, *first], [*second, *NO_WEIGHTS])
    assert violations(site, base, other, keys=frozenset(), step=1) == []


PLAN = """[stream]
name = "s"
source = "e.parquet"
time = "at"
columns = {{ at = "timestamp", who = "text", seen = "timestamp" }}
start = "2026-03-27"
every = "1d"
horizon = 7
zone = "{zone}"
[privacy]
population = "p"
{unit}
epsilon = 1
[[release]]
name = "r"
measure = "count"
[store]
url = "s.db"
"""
DAY = 1_774_699_200  # a day of its first steps, in seconds
PER = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["event", "user"])
@pytest.mark.parametrize("name", [name for name in TYPES if name.startswith("timestamp")])
def test_a_parquet_time_that_no_calendar_has(
    tmp_path: Path, name: str, unit: str, zone: str
) -> None:
    """As the event's time, in another column of the plan, and in one that it does not name."""
    kind, values = TYPES[name]
    tame = DAY * PER[kind.unit]
    seen = {}
    for statistics in (True, False):
        for place in (None, "at", "seen", "noted"):
            hostile = min(values)
            folder = tmp_path / f"{place}-{statistics}"
            folder.mkdir()
            (folder / "p.toml").write_text(PLAN.format(zone=zone, unit=UNITS[unit]))
            rows = {each: [tame] * 5 for each in ("at", "seen", "noted")}
            if place is not None:  # a row of nobody, so that it counts nowhere
                for each in rows:
                    rows[each].append(0 if each == "at" else tame)
                rows[place][5] = hostile
            who = pa.array([*"abcde", "f"][: len(rows["at"])])
            table = pa.table({**{each: column(kind, rows[each]) for each in rows}, "who": who})
            pq.write_table(table, folder / "e.parquet", version="2.6", write_statistics=statistics)
            inputs: list[Any] = []
            with _replaced(Pretender(), inputs):
                launching = ("--yes", "--until", "2026-03-30")
                code, out, err = command("run", str(folder / "p.toml"), *launching)
            shown = out.replace(str(folder), ""), err.replace(str(folder), "")
            seen[place, statistics] = code, shown, [some.tolist() for some in inputs]
    base = seen[None, True]
    assert base[0] == 0
    assert sum(np.sum(some) for some in base[2]) > 0
    for where, other in seen.items():
        assert other == base, where
