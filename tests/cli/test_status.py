"""``ameles status``: where a stream stands, and nothing about its data."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ameles.cli.plans import store_path
from ameles.cli.status import Status, look
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.cli.conftest import Program
from tests.cli.test_run import change

KEYS = set(Status.__dataclass_fields__)


def standing(file: Path, year: int, month: int, day: int, hour: int = 0) -> Status:
    return look(read_plan(file), now=datetime(year, month, day, hour, tzinfo=UTC))


def test_a_stream_at_its_end(site: Path, ameles: Program) -> None:
    assert ameles("status").out.splitlines() == [
        "stream      flu, not running",
        "released    step 182 of 182, which ended 2026-04-01 00:00 UTC",
        "next        none: the last step is released",
        "lag         0 steps",
        "budget      population 'visitors': epsilon 0 left, epsilon 1 spent",
        "sinks       csv:releases.csv: step 182",
    ]
    shown = json.loads(ameles("status", "--json").out)
    assert set(shown) == KEYS
    now = asdict(standing(site / "ameles.toml", 2030, 1, 1))
    assert shown == now | {"sinks": list(now["sinks"]), "gaps": []}
    assert shown["sinks"] == [
        {
            "sink": "csv:releases.csv",
            "step": 182,
            "behind": 0,
            "behind_since": None,
            "problem": None,
        }
    ]
    assert shown["last_release"] == "2026-04-01T00:00:00Z"
    assert shown["next_release"] is None


@pytest.mark.usefixtures("fresh")
def test_a_release_that_is_overdue_is_said_to_be(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-11").code == 0
    assert "next        due since 2025-10-12 00:00 UTC\n" in ameles("status").out


@pytest.mark.usefixtures("fresh")
def test_a_release_to_come_is_told_with_its_time(ameles: Program) -> None:
    change('start = "2025-10-01"', 'start = "2125-10-01"')
    assert ameles("run").code == 0
    assert "next        2125-10-02 00:00 UTC\n" in ameles("status").out


def test_lag_is_in_steps_that_are_due(fresh: Path, ameles: Program) -> None:
    change("horizon = 182", 'horizon = 182\ngrace = "6h"')
    assert ameles("run", "--until", "2025-10-11").code == 0
    file = fresh / "ameles.toml"
    early = standing(file, 2025, 10, 12, 5)  # step 11 has ended and is in its grace
    assert (early.released, early.lag) == (10, 0)
    assert early.last_release == "2025-10-11T00:00:00Z"
    assert early.next_release == "2025-10-12T06:00:00Z"
    assert standing(file, 2025, 10, 12, 6).lag == 1
    assert standing(file, 2025, 10, 14, 7).lag == 3
    assert standing(file, 2030, 1, 1).lag == 172
    assert standing(file, 2025, 10, 1).lag == 0  # the clock was set back


def test_before_the_first_release(fresh: Path, ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-01").code == 0
    said = ameles("status").out
    assert "released    no step of 182 yet\n" in said
    assert standing(fresh / "ameles.toml", 2025, 10, 1).last_release is None


def test_how_far_each_sink_is(fresh: Path, ameles: Program) -> None:
    more = '[[sink]]\njsonl = "releases.jsonl"\n\n[[sink]]\nstdout = "jsonl"\n\n[[sink]]'
    change("[[sink]]", more)
    assert ameles("run", "--until", "2025-10-04").code == 0
    (fresh / "releases.jsonl").write_text("edited", encoding="utf-8")
    failed = ameles("run", "--until", "2025-10-06")
    assert failed.code == 4
    assert "'releases.jsonl' of the sink jsonl:releases.jsonl was cut or edited" in failed.err
    assert "2 other sinks have everything up to step 5" in failed.err
    assert ameles("status").out.splitlines()[-3:] == [
        "sinks       jsonl:releases.jsonl: step 3, 2 behind since 2025-10-05 00:00 UTC, failing. "
        "The file 'releases.jsonl' of the sink jsonl:releases.jsonl was cut or edited since it was "
        "written.",
        "            stdout:jsonl: step 5",
        "            csv:releases.csv: step 5",
    ]
    (fresh / "releases.jsonl.ameles").write_text("edited", encoding="utf-8")
    shown = json.loads(ameles("status", "--json").out)["sinks"]
    assert [(each["step"], each["behind"]) for each in shown] == [(None, None), (5, 0), (5, 0)]
    assert shown[0]["problem"]


def test_a_stream_that_is_held_is_running(site: Path, ameles: Program) -> None:
    plan = read_plan(site / "ameles.toml")
    with closing(open_store(store_path(plan))) as store, store.holding("flu"):
        assert "stream      flu, running\n" in ameles("status").out
    assert "stream      flu, not running\n" in ameles("status").out


@pytest.mark.usefixtures("fresh")
def test_what_was_not_launched_has_no_status(ameles: Program) -> None:
    before = sorted(Path().iterdir())
    ended = ameles("status")
    assert (ended.code, ended.out) == (4, "")
    assert "There is no store 'flu.db' beside the plan." in ended.err
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("site")
def test_another_stream_of_the_store(ameles: Program) -> None:
    change('name = "flu"', 'name = "second"')
    before = sorted(Path().iterdir())
    ended = ameles("status")
    assert ended.code == 4
    assert "Stream 'second' was not launched yet." in ended.err
    assert sorted(Path().iterdir()) == before, "no lock file for a stream that is not there"


def test_it_does_not_depend_on_the_data(fresh: Path, ameles: Program) -> None:
    """The same plan on a file with ten lines and on one with all of them."""
    lines = (fresh / "visits.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    said = []
    for count in (11, len(lines)):
        for file in fresh.glob("*.db*"):
            file.unlink()
        for file in fresh.glob("releases.csv*"):
            file.unlink()
        (fresh / "visits.csv").write_text("".join(lines[:count]), encoding="utf-8")
        assert ameles("run", "--until", "2025-11-01").code == 0
        said.append(asdict(standing(fresh / "ameles.toml", 2025, 11, 2)))
    assert said[0] == said[1]
