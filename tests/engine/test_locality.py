"""Locality: one line more changes its own cell, by what is declared, and nothing else at all.

Each check ships with engines that break it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
import pytest

from ameles.connectors import lines as connector_lines
from ameles.connectors import text as connector_text
from ameles.connectors import typed
from ameles.engine.asking import Asking
from ameles.engine.bounds import Bounding
from ameles.engine.clock import Clock
from ameles.engine.launching import bought
from ameles.engine.pending import Totals
from ameles.noise.arrays import IntArray
from tests.engine.neighbours import (
    BOUNDS,
    HORIZON,
    ONCE,
    REACH,
    REGIONS,
    Line,
    Pretender,
    Site,
    View,
    check,
    violations,
)

NORTH = frozenset({"north"})
OTHER = frozenset({"other"})
LATES = ("next", "drop")


def at(day: int, hour: int = 12) -> str:
    """A time on a day of the stream, in the zone of the plan."""
    month, number = (3, 26 + day) if day <= 5 else (4, day - 5)
    return f"2026-{month:02}-{number:02}T{hour:02}:30:00"


def line(
    day: int = 4,
    who: str = "zoe",
    region: str = "north",
    age: Any = 40,
    amount: Any = 3,
    fever: Any = "true",
    time: str | None = None,
) -> bytes:
    return f"{time or at(day)},{who},{region},{age},{amount},{fever}".encode()


def crowd(numbers: Iterable[int]) -> list[bytes]:
    """Nine users, each at home in one region, most of them beyond their bounds."""
    return [
        line(
            1 + (5 * n + n // 9) % HORIZON,
            who=f"u{n % 9}",
            region=REGIONS[n % 3],
            age=(7 * n) % 90,
            amount=n % 23 - 4,
            fever="true" if n % 4 else "false",
            time=at(1 + (5 * n + n // 9) % HORIZON, n % 24),
        )
        for n in numbers
    ]


FIRST, SECOND = crowd(range(60)), crowd(range(60, 110))

# What counts nowhere, whatever the unit.
NOWHERE = {
    "no time": line(time="yesterday"),
    "no time at all": b",zoe,north,40,3,true",
    "a time in the year 292278": line(time="292278-01-01T00:00:00Z"),
    "infinitely late": line(time="infinity"),
    "after the horizon": line(time="2026-04-03T00:00:00"),
    "years ahead": line(time="9999-12-31T23:59:59Z"),
    "before the start": line(time="2026-03-26T23:59:59.999999"),
    "before Christ": line(time="0044-03-15 (BC)"),
    "an open quote": b'"' + line(),
    "an open quote inside": line(region='"north'),
    "an open quote at the end": line(fever='"true'),
    "a stray quote": line(region='no"rth'),
    "NUL": line(who="zo\0e"),
    "a field too few": line().rpartition(b",")[0],
    "a field too many": line() + b",1",
    "nothing": b"",
    "spaces": b"   ",
    "a separator of another kind": line().replace(b",", b";"),
    "too long": line(who="z" * (1 << 20)),
    "half a character": b"\xff\xfe",
}
# What counts in cells of its own; the step is that of its time.
SOMEWHERE = {
    "an event": Line(line(), NORTH, 4),
    "early": Line(line(1), NORTH, 1),
    "in an open step": Line(line(6), NORTH, 6),
    "in quotes": Line(line(who='"zoe, the ""other"""', region='"north"'), NORTH, 4),
    "an undeclared key": Line(line(region="west"), OTHER, 4),
    "a key in capitals": Line(line(region="North"), OTHER, 4),
    "a key with a space": Line(line(region=" north"), OTHER, 4),
    "invalid UTF-8 in a key": Line(line().replace(b"north", b"n\xc3\x28rth"), OTHER, 4),
    "invalid UTF-8 in a name": Line(line().replace(b"zoe", b"zo\xff"), NORTH, 4),
    "no key": Line(line(region=""), OTHER, 4),
    "no age": Line(line(age=""), NORTH, 4),
    "no amount": Line(line(amount=""), NORTH, 4),
    "no fever": Line(line(fever=""), NORTH, 4),
    "an age that is none": Line(line(age="forty"), NORTH, 4),
    "an age of 2**63 - 1": Line(line(age=2**63 - 1), NORTH, 4),
    "an age of 2**63": Line(line(age=2**63), NORTH, 4),
    "an amount of 1e308": Line(line(amount="1e308"), NORTH, 4),
    "an amount of -1e999": Line(line(amount="-1e999"), NORTH, 4),
    "an amount that is NaN": Line(line(amount="nan"), NORTH, 4),
    "a carriage return": Line(line() + b"\r", NORTH, 4),
    # The clocks go from 2 to 3 that night.
    "in the hour that was left out": Line(line(time="2026-03-29T02:30:00"), NORTH, 3),
    "the last moment of a short day": Line(line(time="2026-03-29T21:59:59.999999Z"), NORTH, 3),
    "the first moment after it": Line(line(time="2026-03-29T22:00:00Z"), NORTH, 4),
    "the first moment of all": Line(line(time="2026-03-26T23:00:00Z"), NORTH, 1),
    "the last moment of all": Line(line(time="2026-04-02T21:59:59.999999Z"), NORTH, 7),
}
LINES = {name: Line(text) for name, text in NOWHERE.items()} | SOMEWHERE
ALONE = (
    "no time",
    "after the horizon",
    "before the start",
    "an open quote inside",
    "NUL",
    "too long",
    "half a character",
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


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites(tmp_path_factory.mktemp("sites"))


def with_line(more: bytes, part: int) -> tuple[list[bytes], list[bytes]]:
    """The crowd with one line more in one of its parts, at a place that depends on the line."""
    first, second = [*FIRST], [*SECOND]
    lines = first if part == 1 else second
    lines.insert(crc32(more) % (len(lines) + 1), more)
    return first, second


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
            declared = bought(plan.recipes[name]).guarantee.contribution
            most = ONCE[name] or steps if name in ONCE else steps * per_step * REACH[name]
            assert declared.steps * declared.bound == most, (unit, name)


@pytest.mark.parametrize(("name", "unit", "late", "part"), CASES)
def test_one_line_more(sites: Sites, name: str, unit: str, late: str, part: int) -> None:
    site, base = sites.get(unit, late)
    more = LINES[name]
    other = site.view(f"{len(list(site.folder.iterdir()))}", *with_line(more.text, part))
    assert check(site, base, other, more, part) == []
    if (landed := more.lands(part, late)) is not None and landed <= 5:
        assert other.rows != base.rows  # it counts


@pytest.mark.parametrize("late", LATES)
@pytest.mark.parametrize("unit", BOUNDS)
def test_all_that_counts_nowhere_at_once(sites: Sites, unit: str, late: str) -> None:
    site, base = sites.get(unit, late)
    first = [some for pair in zip(FIRST, [*NOWHERE.values()] * 9, strict=False) for some in pair]
    second = [some for pair in zip([*NOWHERE.values()] * 9, SECOND, strict=False) for some in pair]
    assert (
        violations(site, base, site.view("nowhere", first, second), keys=frozenset(), step=1) == []
    )


@pytest.mark.parametrize("unit", BOUNDS)
def test_all_that_counts_at_once(sites: Sites, unit: str) -> None:
    """Each of a user of its own, so that each may move as much as one unit."""
    site, base = sites.get(unit, "next")
    more = [
        some.text.replace(b"zo", b"zo%d" % number) for number, some in enumerate(SOMEWHERE.values())
    ]
    other = site.view("somewhere", [*more[::2], *FIRST], [*more[1::2], *SECOND])
    found = violations(site, base, other, keys=NORTH | OTHER, step=1, times=len(more))
    assert found == []
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
    other = site.view("nobody", first, [line(2, who=""), *second])
    assert violations(site, base, other, keys=frozenset(), step=1) == []


# All events of one user: in every step and cell, before their step closed and late, some twice.
EVE_FIRST = [line(1 + n % 7, who="eve", region=REGIONS[n % 3], age=n, amount=20) for n in range(25)]
EVE_LATER = [line(1 + n % 7, who="eve", region=REGIONS[n % 2], amount=20) for n in range(15)] * 2
ANYWHERE = frozenset({*REGIONS, "other"})


def with_eve() -> tuple[list[bytes], list[bytes]]:
    return [*EVE_FIRST[::2], *FIRST, *EVE_FIRST[1::2]], [*SECOND, *EVE_LATER]


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
}
NO_WEIGHTS = [
    line() + b"," + weight
    for weight in (
        b"1099511627777",
        b"9223372036854775807",
        b"1" * 30,
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


class TestBrokenEngines:
    """Each breaks a rule, and the checks above see it."""

    def seen(self, folder: Path, unit: str, name: str, part: int = 1) -> list[str]:
        site, more = Site(folder, unit), LINES[name]
        base = site.view("base", FIRST, SECOND)
        return check(site, base, site.view("other", *with_line(more.text, part)), more, part)

    def test_a_quote_that_reaches_over_lines(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read_as_usual(read: Any, *, within: bool = False) -> Iterator[bytes]:
            for block in connector_lines.blocks(read, within=within):
                rows = csv.reader(io.StringIO(block.decode(errors="replace").replace("\0", "")))
                fields = [[f.replace("\n", " ").replace(",", " ") for f in row] for row in rows]
                yield "".join(",".join(row) + "\n" for row in fields).encode()

        monkeypatch.setattr(connector_text, "blocks", read_as_usual)
        assert any("changed" in seen for seen in self.seen(tmp_path, "event", "an open quote"))

    def test_a_row_that_stops_the_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cast = typed._cast
        monkeypatch.setattr(typed, "_cast", lambda *given: cast(*given).replace("TRY_CAST", "CAST"))
        assert "exits differ" in self.seen(tmp_path, "event", "an age that is none")

    def test_a_date_that_moves_the_close(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The classic watermark: what has been seen decides what has ended."""
        ended, folder = Clock.ended, tmp_path

        def watermark(self: Clock, us: int) -> int:
            dates = [
                text.partition(b",")[0].decode()
                for file in folder.glob("*/events.csv")
                for text in file.read_bytes().splitlines()[1:]
            ]
            found = duckdb.execute(
                "SELECT epoch_us(max(TRY_CAST(d AS TIMESTAMPTZ))) FROM (SELECT unnest(?) AS d)",
                [dates],
            ).fetchone()
            return ended(self, max(us, min(found[0] if found else 0, us + 86_400_000_000)))

        monkeypatch.setattr(Clock, "ended", watermark)
        first = [some for some in FIRST if some.startswith(b"2026-03-2")][:20]
        site = Site(tmp_path, "event")
        base = site.view("base", [some for some in first if b"03-30" not in some], [])
        other = site.view("other", [*first, line(7)], [])
        assert violations(site, base, other, keys=NORTH, step=7) != []

    def test_a_date_that_takes_others_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Late is what lies behind the newest event, as a stream processor's watermark has it."""
        events = Asking.events

        def behind(self: Asking, *given: Any, **named: Any) -> str:
            return (
                f"SELECT * FROM ({events(self, *given, **named)}) "
                "QUALIFY step >= max(step) OVER () - 4"
            )

        monkeypatch.setattr(Asking, "events", behind)
        site = Site(tmp_path, "event")
        first = [some for some in FIRST if some < b"2026-04-02"]
        base = site.view("base", first, [])
        other = site.view("other", [*first, line(7)], [])
        assert any(
            "changed" in seen for seen in check(site, base, other, Line(line(7), NORTH, 7), 1)
        )

    def test_first_come_first_served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A bound over all users: one more pushes another out."""
        events = Asking.events

        def limited(self: Asking, *given: Any, **named: Any) -> str:
            return (
                f"SELECT * FROM ({events(self, *given, **named)}) "
                "QUALIFY row_number() OVER (PARTITION BY step ORDER BY who DESC) <= 5"
            )

        monkeypatch.setattr(Asking, "events", limited)
        assert any("changed" in seen for seen in self.seen(tmp_path, "user", "early"))

    def test_bounds_that_start_again_with_every_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Bounding, "_remember", lambda self, span: _nobody(self))
        assert any("moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_bounds_in_each_cell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where every key has its own bound, or each of several batches."""
        run = Bounding._run
        monkeypatch.setattr(
            Bounding,
            "_run",
            lambda self, query: run(
                self,
                query.replace("PARTITION BY who, step ", "PARTITION BY who, step, cell_0 ").replace(
                    "PARTITION BY key, step ", "PARTITION BY key, step, cell_0 "
                ),
            ),
        )
        assert any("moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_users_that_count_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        once = Bounding.once
        monkeypatch.setattr(
            Bounding, "once", lambda self, cell, release, span: once(self, cell, release, "step")
        )
        assert any("people moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_noise_that_depends_on_the_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Some for every cell that has events, more than where there are none."""
        matrix = Totals.matrix

        def eager(self: Totals, *given: int) -> IntArray:
            Pretender.now.laplace(Fraction(1), len(self.step))
            return matrix(self, *given)

        monkeypatch.setattr(Totals, "matrix", eager)
        assert "laws differ" in self.seen(tmp_path, "event", "an undeclared key")

    def eve(self, folder: Path, unit: str) -> list[str]:
        site = Site(folder, unit)
        base = site.view("base", FIRST, SECOND)
        return violations(site, base, site.view("eve", *with_eve()), keys=ANYWHERE, step=1)


def _nobody(bounding: Bounding) -> None:
    bounding.duck.execute(
        "CREATE OR REPLACE TEMP TABLE remembered "
        "(key BLOB, span BIGINT, steps BIGINT, marks BIGINT)"
    )
