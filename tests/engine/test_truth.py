"""Without noise every release is what a plain query says: each measure, span, unit and source."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.engine.gathering.event_sql import EventSql
from ameles.simulate import season, write_hourly_csv
from tests.engine.visits import (
    BY,
    EDGES,
    FILES,
    HEAT,
    REGIONS,
    ROUNDED,
    SPANS,
    STEPS,
    UNITS,
    ZONE,
    Site,
    connected,
    run,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    yield made
    made.duck.close()


def releases(users: bool) -> dict[str, str]:
    """Every measure over every span that it can have."""
    tables: dict[str, str] = {}
    for over in SPANS:
        span = f'over = "{over}"\n'
        tables |= {
            f"count-{over}": f'measure = "count"\n{span}where = "fever AND age >= 18"\n{BY}',
            f"cells-{over}": f'measure = "count"\n{span}other = true\nby = {{ region = '
            f'["north", "south"], cough = [true, false] }}\n',
            f"sum-{over}": f'measure = "sum"\n{span}{HEAT}{BY}',
            f"mean-{over}": f'measure = "mean"\n{span}{HEAT}{BY}',
            f"histogram-{over}": f'measure = "histogram"\n{span}column = "age"\n'
            f"edges = {list(EDGES)}\nother = true\n",
            f"quantile-{over}": f'measure = "quantile"\n{span}column = "age"\n'
            f"edges = {list(EDGES)}\nq = 0.3\n",
            f"top-{over}": f'measure = "top"\nk = 3\n{span}{BY}',
        }
        if over != "total":
            tables[f"alert-{over}"] = (
                f'measure = "alert"\nthreshold = {25 * SPANS[over]}\ntimes = 3\n{span}{BY}'
            )
        if users and over != "3d":
            tables[f"distinct-{over}"] = f'measure = "distinct"\n{span}where = "NOT fever"\n'
    return tables


@pytest.mark.parametrize("unit", UNITS)
def test_every_measure_is_what_a_query_says(site: Site, unit: str) -> None:
    users = unit != "event"
    known = "device IS NOT NULL" if users else "true"
    published = site.run(releases(users), unit, FILES[0], (0, 5, STEPS))
    regions = [*REGIONS]
    for over in SPANS:
        adults = site.counts(
            "count(v.step)", "region", regions, over, f"{known} AND fever AND age >= 18"
        )
        assert np.array_equal(published.of(f"count-{over}"), adults), over
        assert adults.sum() > 50

        cells = [
            f"{r}/{c}" for r in ("north", "south", "other") for c in ("true", "false", "other")
        ]
        key = (
            "CASE WHEN region IN ('north', 'south') THEN region ELSE 'other' END || '/' || "
            "coalesce(CAST(cough AS VARCHAR), 'other')"
        )
        crossed = site.counts("count(v.step)", key, cells, over, known)
        assert np.array_equal(published.of(f"cells-{over}"), crossed), over

        warm = f"{known} AND temperature IS NOT NULL"
        sums = site.counts(f"coalesce(sum({ROUNDED}), 0)", "region", regions, over, warm)
        assert np.allclose(published.of(f"sum-{over}"), sums, rtol=0, atol=1e-9), over
        means = site.counts(f"coalesce(avg({ROUNDED}), 37.75)", "region", regions, over, warm)
        assert np.allclose(published.of(f"mean-{over}"), means, rtol=0, atol=1e-9), over

        bins = [f"[{a},{b})" for a, b in pairwise(EDGES)]
        ages = " ".join(f"WHEN age < {b} THEN '[{a},{b})'" for a, b in pairwise(EDGES))
        key = f"CASE WHEN age = 90 THEN '{bins[-1]}' {ages} ELSE 'other' END"
        binned = site.counts("count(v.step)", key, [*bins, "other"], over, known)
        assert np.array_equal(published.of(f"histogram-{over}"), binned), over

        clamped = site.counts(
            "count(v.step)",
            key.replace("other", bins[-1]),
            bins,
            over,
            f"{known} AND age IS NOT NULL",
        )
        below = np.cumsum(clamped, axis=1)
        wanted = [np.interp(0.3 * row[-1], [0, *row], EDGES) for row in below]
        assert np.allclose(published.of(f"quantile-{over}")[:, 0], wanted), over

        counts = site.counts("count(v.step)", "region", regions, over, known)
        order = np.argsort(-counts, axis=1, kind="stable")[:, :3]
        assert np.array_equal(
            published.of(f"top-{over}"), np.take_along_axis(counts, order, axis=1)
        )
        assert np.array_equal(published.of(f"top-{over}", "label"), np.array(regions)[order]), over

        if over != "total":
            alarms = np.array([_alarms(line, 25 * SPANS[over], 3) for line in counts.T]).T
            assert np.array_equal(published.of(f"alert-{over}", "label"), alarms), over
            assert {"above", "below", "halted"} == set(alarms.ravel()), over

    if users:
        well = "device IS NOT NULL AND NOT fever"
        each = site.counts("count(DISTINCT v.device)", "''", [""], "step", well)
        assert np.array_equal(published.of("distinct-step"), each)
        life = site.counts("count(DISTINCT v.device)", "''", [""], "total", well)
        if unit == "user-window":  # each window has its own users
            window = "(v.step - 1) // 7"
            life = site.counts(f"count(DISTINCT (v.device, {window}))", "''", [""], "total", well)
        assert np.array_equal(published.of("distinct-total"), life)


def _alarms(line: Any, threshold: int, times: int) -> list[str]:
    labels: list[str] = []
    for value in line:
        if labels.count("above") == times:
            labels.append("halted")
        else:
            labels.append("above" if value >= threshold else "below")
    return labels


@pytest.mark.parametrize("unit", ["event", "user"])
def test_all_sources_and_all_cuts_say_the_same(site: Site, unit: str) -> None:
    asked = releases(unit != "event")
    asked = {name: asked[name] for name in asked if name.endswith(("-3d", "-total"))}
    first = site.run(asked, unit, FILES[0], (STEPS,))
    assert site.run(asked, unit, FILES[1], (3, 4, 12, STEPS)).plain == first.plain
    assert site.run(asked, unit, FILES[2], (7, STEPS)).plain == first.plain


BOUND = 'unit = "user"\nuser = "device"\nmax_per_step = 1\nmax_steps = 2'
KEPT = (  # the first two steps of each device, and in them one visit: whatever it says
    "SELECT DISTINCT device, step FROM visits WHERE device IS NOT NULL AND step BETWEEN 1 AND 14 "
    "QUALIFY dense_rank() OVER (PARTITION BY device ORDER BY step) <= 2"
)
BOUNDED = {
    "all": 'measure = "count"\nover = "step"\n',
    "cells": f'measure = "count"\nover = "step"\nother = true\n{BY}',
    "hot": 'measure = "count"\nover = "step"\nwhere = "fever"\n',
    "cold": 'measure = "count"\nover = "step"\nwhere = "NOT fever"\n',
}


class TestBounds:
    """Which visit is kept is decided by a secret; how many are is not."""

    def off(self, site: Site) -> list[str]:
        """What is not as the bounds want it."""
        published = site.run(BOUNDED, BOUND, FILES[0], (4, STEPS))
        kept = site.duck.execute(f"SELECT step, count(*) FROM ({KEPT}) GROUP BY ALL ORDER BY ALL")
        counts = np.array([count for _, count in kept.fetchall()])
        sums = {
            "all": published.of("all")[:, 0],
            "cells": published.of("cells").sum(axis=1),
            "conditions": published.of("hot")[:, 0] + published.of("cold")[:, 0],
        }
        return [name for name, line in sums.items() if not np.array_equal(line, counts)]

    def test_they_are_for_all_keys_and_conditions_together(self, site: Site) -> None:
        assert self.off(site) == []

    def test_bounds_after_a_condition_are_seen(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only what matches is bounded, so that what does not match uses up nothing."""
        events = EventSql.select
        monkeypatch.setattr(
            EventSql,
            "select",
            lambda self, *given, **named: (
                f"SELECT * FROM ({events(self, *given, **named)}) "
                f"WHERE {self.cells['hot']} IS NOT NULL"
            ),
        )
        assert self.off(site) != []


def test_rows_that_stand_for_many(tmp_path: Path) -> None:
    some = season(days=STEPS, visitors=300, events=3000, start="2025-10-20", seed=6)
    write_hourly_csv(tmp_path / "hourly.csv", some)
    head, *lines = (tmp_path / "hourly.csv").read_text(encoding="utf-8").splitlines()
    lines += [  # corrections
        "2025-10-22T10:00:00+02:00,north,true,-4",
        "2025-10-22T11:00:00Z,west,false,1000",
    ]
    sized = [f"{head},size", *(f"{line},{place % 7 - 3}" for place, line in enumerate(lines))]
    (tmp_path / "hourly.csv").write_text("\n".join([*sized, ""]), encoding="utf-8")
    duck = connected()
    read = (
        f"SELECT CAST(reported_at AT TIME ZONE '{ZONE}' AS DATE) - DATE '2025-10-20' + 1 AS step, "
        f"region, fever, n, size FROM read_csv('{tmp_path / 'hourly.csv'}')"
    )
    kinds = {"reported_at": "timestamp", "region": "text", "fever": "boolean", "n": "integer"}
    kinds["size"] = "integer"
    asked = {
        over: f'measure = "count"\nover = "{over}"\nwhere = "fever"\n{BY}' for over in SPANS
    } | {"sum": f'measure = "sum"\ncolumn = "size"\nlower = -2\nupper = 2\ngranularity = 1\n{BY}'}
    published = run(
        tmp_path, asked, UNITS["event"], "hourly.csv", kinds, (5, STEPS), 'weight = "n"'
    )
    for over, length in SPANS.items():
        rows = duck.execute(
            f"SELECT s.step, k.region, coalesce(sum(v.n), 0) FROM range(1, {STEPS + 1}) AS s(step) "
            f"CROSS JOIN (SELECT unnest({list(REGIONS)}) AS region) AS k LEFT JOIN ({read}) AS v "
            "ON v.region = k.region AND v.fever AND v.step BETWEEN greatest(s.step - "
            f"{length} + 1, 1) AND s.step GROUP BY s.step, k.region ORDER BY s.step, "
            f"list_position({list(REGIONS)}, k.region)"
        ).fetchall()
        wanted = np.array([value for *_, value in rows], dtype=np.int64).reshape(STEPS, 4)
        assert np.array_equal(published.of(over), wanted), over
    row = duck.execute(
        f"SELECT sum(n * least(greatest(size, -2), 2)) FROM ({read}) WHERE step <= 14"
    )
    assert published.of("sum")[-1].sum() == row.fetchall()[0][0]
    duck.close()
