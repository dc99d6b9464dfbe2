"""What the example plans release: every step of every key, and without noise the truth."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.core.release import COLUMNS
from ameles.engine.engine import Engine
from ameles.mechanisms.local import RandomizedResponse
from ameles.noise import Zero
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan
from ameles.simulate import REGIONS, season
from ameles.store import open_store
from tests.test_examples_plans import PLANS, WRITERS, each_plan

STEPS = range(1, 183)
BUSY = season(events=20_000)  # what the plans' comments say
Line = dict[str, dict[int, Any]]  # of each key, by step


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("busy")
    for name, write in WRITERS.items():
        write(folder / name, BUSY)
    return folder


@pytest.fixture(scope="module")
def visits(busy: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same visits in plain tables, with the day of each."""
    day = "(epoch_us(reported_at) - epoch_us(TIMESTAMPTZ '2025-10-01 00:00:00Z')) // 86400000000"
    with duckdb.connect() as duck:
        for name in ("visits", "hourly"):
            duck.execute(
                f"CREATE TABLE {name} AS SELECT *, {day} + 1 AS day "
                f"FROM read_csv('{busy / name}.csv', types = {{'reported_at': 'TIMESTAMPTZ'}})"
            )
        yield duck


def without_noise(stem: str, busy: Path, store_file: Path) -> dict[str, Line]:
    """What an example publishes about the busy site where no noise is drawn."""
    file = next(file for file in PLANS if file.stem == stem)
    quiet = replace(read_plan(file), sinks=(), base=busy)
    lines: dict[str, Line] = defaultdict(lambda: defaultdict(dict))
    with closing(open_store(str(store_file))) as store:
        Engine(quiet, store, noise=Zero()).run(instant(quiet.clock.end_of(STEPS[-1])))
        with store.reading() as transaction:
            stream = transaction.stream(stem)
            assert stream is not None
            for one in transaction.releases(stream):
                told = (one.label, one.value) if one.label else one.value
                lines[one.release][one.key][one.step] = told
    return lines


def daily(duck: duckdb.DuckDBPyConnection, query: str) -> dict[int, Any]:
    return dict(duck.execute(query).fetchall())


def over(window: int | None, counts: dict[int, Any]) -> dict[int, Any]:
    first = {step: 1 if window is None else max(1, step - window + 1) for step in STEPS}
    return {s: sum(counts.get(day, 0) for day in range(first[s], s + 1)) for s in STEPS}


def counted(duck: duckdb.DuckDBPyConnection, where: str, of: str = "visits") -> dict[int, Any]:
    return daily(duck, f"SELECT day, count(*) FROM {of} WHERE {where} GROUP BY day")


def test_a_german_spreadsheet_says_what_the_site_does(
    busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """In days of Berlin, which begin an hour or two before those of the site's file."""
    published = without_noise("german", busy, tmp_path / "german.db")["degrees"][""]
    truth = visits.execute("SELECT sum(temperature) FROM visits").fetchall()[0][0]
    assert sum(published.values()) == pytest.approx(truth, rel=0.01)  # a few hours at the ends
    assert min(published.values()) > 0


@each_plan
def test_it_runs_and_its_sink_has_every_step_of_every_key(
    file: Path, busy: Path, tmp_path: Path
) -> None:
    shutil.copy(file, tmp_path)
    for name in WRITERS:
        (tmp_path / name).symlink_to(busy / name)
    checked = read_plan(tmp_path / file.name)
    with closing(open_store(str(tmp_path / checked.store.url))) as store:
        report = Engine(checked, store).run(instant(checked.clock.end_of(STEPS[-1])))
    assert (report.released, report.new, report.launched) == (182, 182, True)
    with (tmp_path / f"{file.stem}-releases.csv").open(newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert tuple(rows[0]) == COLUMNS
    places = [(row["release"], row["key"], int(row["step"])) for row in rows]
    discovering = {one.name for one in checked.releases if one.discovered and not one.keys}
    assert [place for place in places if place[0] not in discovering] == [
        (release.name, key, step)
        for step in STEPS
        for release in checked.releases
        if release.name not in discovering
        for key in release.keys
    ]
    assert [step for *_, step in places] == sorted(step for *_, step in places)
    for name in discovering:
        lines: dict[str, list[int]] = defaultdict(list)
        for release_name, key, step in places:
            if release_name == name:
                lines[key].append(step)
        check_found_lines(lines)


def check_found_lines(lines: dict[str, list[int]]) -> None:
    """Both cells of every region have every step from a look on that found the region.

    A line ends with the season, or at the end of four quiet weeks, and begins again at a look.
    """
    assert set(lines) == {f"{region}/{fever}" for region in REGIONS for fever in ("true", "false")}
    looks = {-(-look * STEPS[-1] // 100) for look in range(1, 101)}
    for region in REGIONS:
        steps = lines[f"{region}/true"]
        assert steps == lines[f"{region}/false"]
        assert steps == sorted(set(steps))
        gaps = [(last, first) for last, first in pairwise(steps) if first != last + 1]
        assert {steps[0], *(first for _, first in gaps)} <= looks
        assert all(last % 28 == 0 for last in {steps[-1], *(last for last, _ in gaps)} - {182})


def test_a_missing_step_of_a_found_key_would_be_noticed() -> None:
    keys = [f"{region}/{fever}" for region in REGIONS for fever in ("true", "false")]
    whole = {key: [*range(17, 57), *range(77, 183)] for key in keys}  # gone after eight weeks
    check_found_lines(whole)
    both = {"north/true": [*range(17, 99), *range(100, 183)]}
    both["north/false"] = both["north/true"]
    late = {key: [*range(16, 183)] for key in both}  # no look is at step 16
    assert 16 not in {-(-look * 182 // 100) for look in range(1, 101)}
    half = {"north/true": [*range(17, 183)]}
    early = {key: [*range(17, 181)] for key in both}
    alone = {"lighthouse/true": [*range(17, 183)]}
    for broken in (both, late, half, early, alone):
        with pytest.raises(AssertionError):
            check_found_lines(whole | broken)


def test_count(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("count", busy, tmp_path / "s.db")["fever"]
    assert set(published) == {*REGIONS, "other"}
    for region in REGIONS:
        assert published[region] == over(None, counted(visits, f"fever AND region = '{region}'"))
    assert set(published["other"].values()) == {0}


def test_weight(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("weight", busy, tmp_path / "s.db")["visits"]
    for region in REGIONS:
        for fever in ("true", "false"):
            true = counted(visits, f"region = '{region}' AND fever = {fever}")
            assert published[f"{region}/{fever}"] == over(None, true)


def test_sum(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("sum", busy, tmp_path / "s.db")["degrees"][""]
    clamped = "sum(CAST(round(10 * greatest(35, least(42, temperature))) AS BIGINT))"
    tenths = daily(visits, f"SELECT day, {clamped} FROM visits GROUP BY day")
    assert published == {step: tenths.get(step, 0) / 10 for step in STEPS}


def test_mean(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("mean", busy, tmp_path / "s.db")["temperature"]
    clamped = "sum(greatest(35, least(42, temperature)))"
    for region in REGIONS:
        here = f"FROM visits WHERE region = '{region}' GROUP BY day"
        sums = over(7, daily(visits, f"SELECT day, {clamped} {here}"))
        counts = over(7, daily(visits, f"SELECT day, count(*) {here}"))
        assert all(counts.values())
        for step in STEPS:
            assert published[region][step] == pytest.approx(sums[step] / counts[step], abs=1e-9)


def test_histogram(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("histogram", busy, tmp_path / "s.db")
    for region in REGIONS:
        assert published["regions"][region] == over(7, counted(visits, f"region = '{region}'"))
    edges = [0, 5, 15, 25, 45, 65, 80, 120]
    bins = list(pairwise(edges))
    labels = [f"[{low},{high})" for low, high in bins]
    labels[-1] = "[80,120]"
    assert list(published["ages"]) == labels
    for label, (low, high) in zip(labels, bins, strict=True):
        assert published["ages"][label] == over(
            7, counted(visits, f"age >= {low} AND age < {high}")
        )


def test_distinct(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("distinct", busy, tmp_path / "s.db")["devices"]
    firsts = "SELECT min(day) AS day FROM visits WHERE region = '{}' GROUP BY device"
    for region in REGIONS:
        new = daily(visits, f"SELECT day, count(*) FROM ({firsts.format(region)}) GROUP BY day")
        assert published[region] == over(None, new)


def test_quantile(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("quantile", busy, tmp_path / "s.db")["high-fever"][""]
    edges = [38, 38.5, 39, 39.5, 40, 40.5, 41, 41.5, 42]
    below = {e: over(14, counted(visits, f"fever AND temperature < {e}")) for e in edges[1:-1]}
    below[38] = over(14, {})
    below[42] = over(14, counted(visits, "fever"))  # who is above is in the bin at the end
    for step in STEPS:
        wanted = 0.9 * below[42][step]
        low = max(edge for edge in edges[:-1] if edge < published[step])
        high = min(edge for edge in edges[1:] if edge >= published[step])
        assert below[low][step] <= wanted <= below[high][step]


def test_top(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("top", busy, tmp_path / "s.db")["worst-regions"]
    lines = {r: over(14, counted(visits, f"fever AND region = '{r}'")) for r in REGIONS}
    for step in STEPS:
        # stable: of equal counts the region that is declared first
        first, second, *_ = sorted(REGIONS, key=lambda region: -lines[region][step])
        assert published["1"][step] == (first, lines[first][step])
        assert published["2"][step] == (second, lines[second][step])


def test_discovered(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("discovered", busy, tmp_path / "s.db")
    lines = published["visits"]
    check_found_lines({key: list(line) for key, line in lines.items()})
    # The first three visits of each device; a device is in one region only.
    kept = "row_number() OVER (PARTITION BY device ORDER BY reported_at) <= 3"
    visits.execute(f"CREATE OR REPLACE TABLE kept AS SELECT * FROM visits QUALIFY {kept}")
    for region in REGIONS:
        true = over(None, counted(visits, f"region = '{region}'", "kept"))
        sick, well = lines[f"{region}/true"], lines[f"{region}/false"]
        assert {step: sick[step] + well[step] for step in sick} == {s: true[s] for s in sick}
        fevers = over(None, counted(visits, f"fever AND region = '{region}'", "kept"))
        # Which visits of one day are the first is secret, so a few fevers may be others.
        assert max(abs(sick[step] - fevers[step]) for step in sick) < 20 < fevers[182] / 20
        assert true[min(sick)] > 60  # a region of few devices would not have been found
    tops = published["busiest-regions"]
    recent = {r: over(14, counted(visits, f"region = '{r}'", "kept")) for r in REGIONS}
    for step in STEPS[60:]:  # every region was found more than a window ago
        ranks = sorted(REGIONS, key=lambda region: -recent[region][step])
        assert [tops[place][step][1] for place in "12"] == [recent[r][step] for r in ranks[:2]]


def test_reports(busy: Path, tmp_path: Path) -> None:
    published = without_noise("reports", busy, tmp_path / "s.db")["regions"]
    recipe = RandomizedResponse(categories=4, epsilon=2)
    with (busy / "reports.csv").open(newline="", encoding="utf-8") as text:
        once = {row["nonce"]: row for row in csv.DictReader(text)}
    days: dict[int, list[int]] = defaultdict(list)
    for row in once.values():
        day = datetime.fromisoformat(row["reported_at"]).astimezone(UTC).date()
        days[(day - date(2025, 10, 1)).days + 1].append(int(row["report"]))
    for step in STEPS[::20]:
        seen = [one for day in range(step - 27, step + 1) for one in days[day]]
        expected = recipe.estimate(np.array(seen, dtype=np.int64)).counts
        assert [published[region][step] for region in REGIONS] == pytest.approx(expected.tolist())


def test_alert(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("alert", busy, tmp_path / "s.db")["wave"][""]
    weekly = over(7, counted(visits, "fever"))
    reached = [step for step in STEPS if weekly[step] >= 500]
    assert reached[0] > 30
    for step in STEPS:
        label = "below" if step not in reached else "above"
        if step > reached[2]:
            label = "halted"
        told = published[step]
        assert told == (label, None if label == "halted" else float(label == "above"))


def test_user_window(busy: Path, visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    published = without_noise("user-window", busy, tmp_path / "s.db")["fever"][""]
    # Of a device's visits on one day either may be the one that counts: the most and the fewest.
    days = "SELECT device, day, min(fever) AS fewest, max(fever) AS most FROM visits GROUP BY ALL"
    kept = (
        f"SELECT * FROM ({days}) QUALIFY row_number() OVER "
        "(PARTITION BY device, (day - 1) // 14 ORDER BY day) <= 3"
    )
    fewest, most = (
        daily(visits, f"SELECT day, sum({end}::INT) FROM ({kept}) GROUP BY day")
        for end in ("fewest", "most")
    )
    assert all(fewest.get(step, 0) <= published[step] <= most.get(step, 0) for step in STEPS)
    assert sum(most.values()) - sum(fewest.values()) < 0.1 * sum(most.values())
