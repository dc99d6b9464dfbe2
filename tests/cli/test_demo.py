"""``ameles demo``: the story, the files, the picture; and that the truth beside it is the truth."""

from __future__ import annotations

import csv
import sys
from contextlib import closing
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.cli import demo as module
from ameles.cli.demo_truth import Truth
from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.measures.alert import Alert
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.noise import Zero
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan, read_plan_text
from ameles.simulate import season, write_csv
from ameles.store import open_store
from tests.cli.conftest import Program


def test_the_story_and_the_files(tmp_path: Path, ameles: Program) -> None:
    folder = tmp_path / "first"
    ended = ameles("demo", str(folder), "--events", "2000")
    assert ended.code == 0, ended.err
    assert "publishes 7 numbers every day" in ended.err
    assert "It spends epsilon 1 of population 'visitors'" in ended.err
    assert "\noutbreak: " in ended.err
    assert "of the visits exceed the bounds" in ended.err
    for name in ("visits.csv", "ameles.toml", "flu.db", "releases.csv", "releases.png"):
        assert (folder / name).exists()
        assert str(folder / name) in ended.err
    with (folder / "releases.csv").open(newline="", encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 182 * 7
    lines = [line.split() for line in ended.out.splitlines()]
    heads = ["release", "key", "day", "true", "released", "±95%"]
    table = lines[lines.index(heads) + 2 :]
    assert len(table) == 4 * 5
    last = next(
        row
        for row in published
        if (row["release"], row["key"], row["step"]) == ("visits", "south", "182")
    )
    shown = next(line for line in table if line[:3] == ["visits", "south", "182"])
    assert shown[4].replace(",", "") == last["value"]


@pytest.mark.parametrize("there", ["a file in it", "a file of this name"])
def test_a_folder_that_is_not_empty_is_left_alone(
    tmp_path: Path, ameles: Program, there: str
) -> None:
    folder = tmp_path / "mine"
    if there == "a file in it":
        folder.mkdir()
        (folder / "mine.txt").touch()
    else:
        folder.touch()
    ended = ameles("demo", str(folder))
    assert ended.code == 2
    assert "is not an empty folder" in ended.err
    assert len(list(tmp_path.rglob("*"))) == 1 + (there == "a file in it")


def test_without_a_name_it_takes_a_folder_that_is_free(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "find_spec", lambda name: None)  # a picture takes a second
    monkeypatch.setenv("PATH", "")  # where the shell would not find the program
    (tmp_path / "ameles-demo").mkdir()
    ended = ameles("demo", "--events", "1000")
    assert ended.code == 0
    assert (tmp_path / "ameles-demo-2" / "releases.csv").exists()
    assert not list((tmp_path / "ameles-demo").iterdir())
    program = Path(sys.executable).with_name("ameles")
    assert f"Next: cd ameles-demo-2 && {program} explain visits 98\n" in ended.err


def test_a_folder_that_cannot_be_made(tmp_path: Path, ameles: Program) -> None:
    (tmp_path / "file").touch()
    ended = ameles("demo", str(tmp_path / "file" / "inside"))
    assert ended.code == 2
    assert "cannot be made" in ended.err


def test_without_matplotlib_there_is_a_plot_of_characters(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "matplotlib" else find(name, *rest)

    monkeypatch.setattr(module, "find_spec", without)
    ended = ameles("demo", str(tmp_path / "plain"), "--events", "2000")
    assert ended.code == 0
    assert not (tmp_path / "plain" / "releases.png").exists()
    assert "releases.png" not in ended.err
    _, title, plot = ended.out.partition("adults with a fever, each day: released █, true ·\n")
    assert title
    assert len(plot.splitlines()) == 10
    assert max(map(len, plot.splitlines())) <= 80
    assert {"█", "·"} <= set(plot)


def test_the_truth_is_what_the_engine_counts_without_noise_and_bounds(
    finished_demo: Path, tmp_path: Path
) -> None:
    text = (finished_demo / "ameles.toml").read_text(encoding="utf-8")
    text = text.replace("max_per_step = 1 ", "max_per_step = 1000 ")
    text = text.replace("max_steps = 6 ", "max_steps = 182 ").replace("[[sink]]", "")
    text = text.replace('csv = "releases.csv"', "")
    plan = read_plan_text(text, base=finished_demo)
    with closing(open_store(str(tmp_path / "zero.db"))) as store:
        Engine(plan, store, noise=Zero()).run(instant(plan.clock.end_of(182)))
        with store.reading() as transaction:
            stream = transaction.stream("flu")
            assert stream is not None
            released = list(transaction.releases(stream))
    truth = Truth.of(plan)
    points = [truth.beside(release) for release in released if truth.knows(release)]
    assert len(points) == 6 * 182
    assert all(point.true == point.released.value for point in points)
    assert sum(truth.daily["visitors", ""].values()) > 0


def test_what_the_bounds_leave_out(tmp_path: Path) -> None:
    rows = ["reported_at,device,region,age,fever,cough,temperature"]
    for day in range(1, 11):  # one device on ten days, and twice on the first
        rows.append(f"2025-10-{day:02}T12:00:00Z,aa,north,40,true,true,39.0")
    rows.append("2025-10-01T13:00:00Z,aa,north,40,true,true,39.0")
    (tmp_path / "visits.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    text = Path(module.__file__).with_name("demo.toml").read_text(encoding="utf-8")
    truth = Truth.of(read_plan_text(text, base=tmp_path))
    assert truth.left_out == pytest.approx(5 / 11)  # six days, once each
    assert truth.daily["visitors", ""] == {1: 1}


def test_the_alert_tells_the_wave_from_the_quiet_weeks(tmp_path: Path) -> None:
    """At its own size the demo's alert is far from its threshold before the wave and in it."""
    text = Path(module.__file__).with_name("demo.toml").read_text(encoding="utf-8")
    (tmp_path / "ameles.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "ameles.toml")
    write_csv(tmp_path / "visits.csv", season(events=module.EVENTS, visitors=5 * module.EVENTS))
    truth = Truth.of(plan)
    # all ages: a fifth more than the adults
    daily = np.array([truth.daily["fever-today", ""].get(day, 0) for day in range(1, 183)])
    weekly = np.convolve(daily, np.ones(7))[:182]
    (alert,) = (release for release in plan.releases if isinstance(release, Alert))
    recipe = plan.recipes[alert.name]
    assert isinstance(recipe, WindowMonitors)
    scale = float(recipe.comparison.query_scale)
    # A comparison is wrong with probability about exp(-margin / scale) / 2: 60 quiet days are
    # wrong once in 700 demos or more rarely, and the wave cannot be missed for a week.
    assert alert.threshold - 1.5 * weekly[:60].max() > 10 * scale
    assert sum(weekly > alert.threshold + 5 * scale) > 7
    assert 0 < truth.left_out < 0.02


def alarm(step: int, label: str) -> Release:
    return Release(
        stream="flu",
        release="outbreak",
        key="",
        step=step,
        start=None,
        end=None,
        value=None,
        low=None,
        high=None,
        label=label,
        mechanism="WindowMonitors",
        entry=4,
    )


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["below", "below"], "outbreak: no alarm."),
        (["below", "above"], "outbreak: 1 alarm, the first on day 2, the last on day 2."),
        (
            ["above", "below", "above", "halted"],
            "outbreak: 2 alarms, the first on day 1, the last on day 3; halted from day 4 on.",
        ),
    ],
)
def test_alarms_in_words(finished_demo: Path, labels: list[str], said: str) -> None:
    plan = read_plan(finished_demo / "ameles.toml")
    published = [alarm(step, label) for step, label in enumerate(labels, start=1)]
    assert module.alarms(plan, published) == said
