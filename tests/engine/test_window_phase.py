"""Streams share a cap per window only if a window of one is a window of the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from ameles.core.exceptions import PlanError
from ameles.engine.running.window_phase import WindowPhase, phase_of
from ameles.plan.clock import Clock
from ameles.plan.durations import Duration
from ameles.store import open_store
from tests.engine.worlds import COUNT, WINDOW, World, row

CAP = "1\ncap = 10"


def stream(folder: Path, name: str, window: str = "4d", **changes: str) -> World:
    """A stream about the users of one population, with some of its keys changed."""
    unit = WINDOW.replace('"4d"', f'"{window}"')
    world = World(folder, COUNT, unit=unit, epsilon=CAP, horizon=None)
    world.text = world.text.replace('name = "s"', f'name = "{name}"')
    for key, value in changes.items():
        line = f'{key} = "{value}"'
        world.text, replaced = re.subn(rf"^{key} = .*$", line, world.text, count=1, flags=re.M)
        world.text = world.text if replaced else world.text.replace("[stream]", f"[stream]\n{line}")
    return world


def spent(folder: Path) -> str:
    with open_store(str(folder / "s.db")) as store, store.reading() as transaction:
        ledger = transaction.ledger("people")
        assert ledger is not None
        assert {s.name for s in transaction.streams()} >= {"first"}
        return str(ledger.spent)


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """A population whose windows of four days begin with 2026, in UTC."""
    stream(tmp_path, "first").write([row(1)]).earnest(2)
    return tmp_path


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "2026-01-02"},
        {"start": "2026-01-04"},
        {"start": "2026-01-01T12:00"},
        {"start": "2025-12-31"},
        {"zone": "Europe/Rome"},
        {"zone": "Europe/Rome", "start": "2026-01-01T00:00+00:00"},
        {"every": "1h", "window": "4d", "start": "2026-01-01T01:00"},
        {"every": "1h", "window": "96h", "zone": "Europe/Rome"},
    ],
)
def test_windows_that_do_not_line_up_are_refused(opened: Path, changes: dict[str, str]) -> None:
    other = stream(opened, "other", **changes)
    with pytest.raises(PlanError, match="do not line up") as refused:
        other.earnest(2)
    assert refused.value.why
    assert spent(opened) == "epsilon 1"
    # what is suggested is taken
    for start in re.findall(r'start = "([^"]*)"', refused.value.tip):
        zone = re.search(r'zone = "([^"]*)"', refused.value.tip)
        mended = changes | {"start": start} | ({"zone": zone[1]} if zone else {})
        name = re.sub("[^0-9]", "-", f"s{start}")
        assert stream(opened, f"s{name}", **mended).earnest(2).launched


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "2026-01-05"},
        {"start": "2025-12-28"},
        {"start": "2026-01-01T01:00+01:00"},
        {"every": "2d"},
        {"every": "1h"},
        {"every": "1h", "window": "96h"},
        {"every": "1h", "window": "96h", "zone": "Europe/Rome", "start": "2026-01-01T01:00"},
    ],
)
def test_windows_that_line_up_share_the_cap(opened: Path, changes: dict[str, str]) -> None:
    assert stream(opened, "other", **changes).earnest(2).launched
    assert spent(opened) == "epsilon 2"


@pytest.mark.parametrize("window", ["2d", "8d", "30d"])
def test_another_length_is_refused(opened: Path, window: str) -> None:
    with pytest.raises(PlanError, match=f"protected per 4d, and this plan per {window}"):
        stream(opened, "other", window).earnest(2)
    assert spent(opened) == "epsilon 1"


def test_a_user_without_windows_is_refused(opened: Path) -> None:
    unit = WINDOW.replace("user-window", "user").replace('\nwindow = "4d"', "")
    world = World(opened, COUNT, unit=unit, epsilon=CAP)
    world.text = world.text.replace('name = "s"', 'name = "other"')
    with pytest.raises(PlanError, match="protected per 4d, and this plan per life"):
        world.earnest(2)


def test_days_of_a_zone(tmp_path: Path) -> None:
    """The clocks change in March: windows go on at midnight there, and still line up."""
    stream(tmp_path, "first", zone="Europe/Rome").write([row(1)]).earnest(2)
    assert stream(tmp_path, "summer", zone="Europe/Rome", start="2026-06-06").earnest(2).launched
    for changes in ({"zone": "Europe/Berlin"}, {"zone": "Europe/Rome", "start": "2026-06-07"}, {}):
        with pytest.raises(PlanError, match="do not line up") as refused:
            stream(tmp_path, "other", **changes).earnest(2)
        elsewhere = changes.get("zone") != "Europe/Rome"
        assert (', with zone = "Europe/Rome"' in refused.value.tip) == elsewhere
        starts = re.findall(r'start = "([^"]*)"', refused.value.tip)
        assert (
            stream(tmp_path, f"s{len(changes)}", zone="Europe/Rome", start=starts[-1])
            .earnest(2)
            .launched
        )


def test_hours_under_a_population_with_days_of_a_zone(tmp_path: Path) -> None:
    stream(tmp_path, "first", zone="Europe/Rome").write([row(1)]).earnest(2)
    with pytest.raises(PlanError, match="do not line up") as refused:
        stream(tmp_path, "other", every="1h").earnest(2)
    assert ', with steps of days and zone = "Europe/Rome"' in refused.value.tip


class TestOpenedBefore:
    """Populations of stores of the versions 1 and 2 have no phase: their streams do."""

    def forget(self, folder: Path) -> None:
        with open_store(str(folder / "s.db")) as store, store.writing() as transaction:
            transaction._session.write("UPDATE population SET phase = NULL")

    def phase(self, folder: Path) -> str | None:
        with open_store(str(folder / "s.db")) as store, store.reading() as transaction:
            population = transaction.population("people")
            assert population is not None
            return population.phase

    def test_it_is_that_of_their_streams(self, opened: Path) -> None:
        kept = self.phase(opened)
        self.forget(opened)
        with pytest.raises(PlanError, match="do not line up"):
            stream(opened, "other", start="2026-01-02").earnest(2)
        assert self.phase(opened) is None
        assert stream(opened, "other", start="2026-01-05").earnest(2).launched
        assert self.phase(opened) == kept

    def test_streams_that_disagree_go_on_alone(
        self, opened: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        askew = stream(opened, "askew", start="2026-01-02")
        with monkeypatch.context() as before:
            before.setattr("ameles.engine.running.launch.check_window", lambda *_: None)
            askew.earnest(2)
        self.forget(opened)
        with pytest.raises(PlanError, match="do not line up with one another") as refused:
            stream(opened, "other").earnest(2)
        assert "'first': " in refused.value.what
        assert "'askew': " in refused.value.what
        assert spent(opened) == "epsilon 2"
        for world in (stream(opened, "first"), askew):
            assert world.earnest(4).new == 2

    def test_without_streams_the_first_decides(self, opened: Path) -> None:
        self.forget(opened)
        with open_store(str(opened / "s.db")) as store, store.writing() as transaction:
            population = transaction.population("people")
            assert population is not None
            transaction.open_population(
                "empty",
                cap=population.cap,
                unit=population.unit,
                neighbours=population.neighbours,
                window="4d",
            )
        world = stream(opened, "other", start="2026-01-03", population="empty")
        assert world.earnest(4).launched

    def test_what_is_stored_decides_whatever_the_streams_say(self, opened: Path) -> None:
        other = WindowPhase.read(self.phase(opened) or "")
        moved = replace(other, edge=other.edge + timedelta(days=1))
        with open_store(str(opened / "s.db")) as store, store.writing() as transaction:
            transaction._session.write("UPDATE population SET phase = NULL")
            transaction.set_phase("people", str(moved))
        with pytest.raises(PlanError, match="do not line up"):
            stream(opened, "other").earnest(2)


def clocks() -> Iterator[tuple[Clock, Duration]]:
    starts = [datetime(2026, 3, 27) + timedelta(hours=hours) for hours in (0, 1, 24, 26, 48, 72)]
    starts += [datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 2, 30)]
    zones = "UTC", "Europe/Rome", "America/New_York"
    for start, zone in product(starts, zones):
        for every, window in (("1d", "2d"), ("1h", "48h"), ("12h", "48h"), ("1d", "1w")):
            clock = Clock(start=start, every=Duration.read(every), zone=zone)
            yield clock, Duration.read(window)


def test_phases_are_equal_where_edges_are() -> None:
    """Against the clock itself: the edges of a year that two streams have both lived through."""
    begin = 1_774_000_000_000_000 + 20 * 86_400_000_000
    edges = {}
    for clock, window in clocks():
        steps = window.steps(clock.every, zone=clock.zone)
        all_of_them = (clock.start_of(1 + k * steps) for k in range(200))
        late = frozenset(e for e in all_of_them if begin <= e < begin + 300 * 86_400_000_000)
        edges[clock, window] = late
    for (one, others), (two, windows) in product(edges, repeat=2):
        same = phase_of(one, others) == phase_of(two, windows)
        assert same <= (edges[one, others] == edges[two, windows])
        if one.zone == two.zone or not (one.every.calendar or two.every.calendar):
            assert same == (edges[one, others] == edges[two, windows])


def long_ones() -> Iterator[tuple[Clock, Duration]]:
    """Windows longer than the calendar."""
    for window, zone in product(("5000w", "999999999w"), ("UTC", "Europe/Rome")):
        clock = Clock(start=datetime(8999, 12, 31), every=Duration.read("1d"), zone=zone)
        yield clock, Duration.read(window)


@pytest.mark.parametrize("window", ["5000w", "999999999w"])
def test_windows_that_never_end(tmp_path: Path, window: str) -> None:
    stream(tmp_path, "first", window).write([row(1)]).earnest(2)
    assert stream(tmp_path, "same", window).earnest(2).launched
    with pytest.raises(PlanError, match="do not line up") as refused:
        stream(tmp_path, "other", window, start="2026-01-02").earnest(2)
    assert 'start = "2026-01-01"' in refused.value.tip


def test_a_phase_is_read_as_it_was_written() -> None:
    for clock, window in (*clocks(), *long_ones()):
        phase = phase_of(clock, window)
        assert WindowPhase.read(str(phase)) == phase
        later = replace(clock, start=clock.wall + timedelta(microseconds=1))
        assert phase_of(later, window) != phase
