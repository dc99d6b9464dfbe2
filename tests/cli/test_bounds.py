"""``ameles bounds``: what it shows, what it spends, and what it never tells."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ameles.engine.private_bounds import choose
from ameles.mechanisms.one_shot.choice_series import ChoiceSeriesRun
from ameles.plan.plan import read_plan
from tests.cli.conftest import Program


@pytest.fixture
def wide(fresh: Path) -> Path:
    """The demo before its launch, with wide bounds, values, and a cap for more than the plan."""
    plan = fresh / "ameles.toml"
    text = plan.read_text(encoding="utf-8")
    text = text.replace("max_per_step = 1 ", "max_per_step = 10 ")
    text = text.replace("max_steps = 6 ", "max_steps = 50 ")
    text = text.replace("epsilon = 1.0", "epsilon = 1.0\ncap = 1.3")
    text = text.replace(
        "[store]",
        '[[release]]\nname = "ages"\nmeasure = "mean"\ncolumn = "age"\n'
        "lower = 0\nupper = 1000\ngranularity = 1\nover = '7d'\n\n[store]",
    )
    plan.write_text(text.replace("share = 0.35", "share = 0.15"), encoding="utf-8")
    return fresh


def stores(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("flu.db*"))


def test_a_dry_run_shows_candidates_and_costs_and_reads_nothing(
    wide: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "_clipped", None)
    ended = ameles("bounds", "--epsilon", "0.3", "--dry-run")
    assert ended.code == 0, ended.err
    lines = {line.split()[0]: line for line in ended.out.splitlines() if line.strip()}
    assert "1, 2, 5, 10, 20, 50 " in lines["max_steps"]
    assert all("epsilon 0.1" in lines[name] for name in ("max_per_step", "max_steps", "ages.upper"))
    assert "chosen" not in ended.out
    assert "All together cost epsilon 0.3" in ended.err
    assert not stores(wide)


@pytest.mark.parametrize(("epsilon", "span"), [("0", "from 3e-09 to 3000"), ("4000", "to 3000")])
def test_an_epsilon_that_is_no_epsilon_is_called_by_its_name(
    wide: Path, ameles: Program, epsilon: str, span: str
) -> None:
    ended = ameles("bounds", "--epsilon", epsilon, "--dry-run")
    assert ended.code == 2
    assert "The 'epsilon' parameter must be" in ended.err
    assert span in ended.err


def test_chosen_bounds_can_be_pasted_into_the_plan(wide: Path, ameles: Program) -> None:
    ended = ameles("bounds", "--epsilon", "0.3")
    assert ended.code == 0, ended.err
    assert "paid epsilon 0.3, entry 1; epsilon 1 left" in ended.err
    assert "does not suffice" not in ended.err
    table, lines = ended.out.split("In the plan:")
    tables = tomllib.loads(lines)
    assert set(tables["privacy"]) == {"max_per_step", "max_steps"}
    (ages,) = tables["release"]
    assert (ages["name"], set(ages)) == ("ages", {"name", "upper"})
    assert f" {ages['upper']}\n" in table.replace(",", "")
    file = wide / "ameles.toml"
    text = file.read_text(encoding="utf-8")
    for name, value in {**tables["privacy"], "upper": ages["upper"]}.items():
        before = {"max_per_step": 10, "max_steps": 50, "upper": 1000}[name]
        assert f"{name} = {before}" in text
        text = text.replace(f"{name} = {before}", f"{name} = {value}")
    file.write_text(text, encoding="utf-8")
    assert read_plan(file).privacy.max_steps == tables["privacy"]["max_steps"]
    assert ameles("run", "--until", "2025-10-03", "--yes").code == 0
    record = json.loads(ameles("ledger", "--export").out)
    assert record["deployments"][0]["bounds"] == "chosen privately"
    entries = json.loads(ameles("ledger", "--json").out)["entries"]
    assert (entries[0]["on"], entries[0]["recipe"]["recipe"]) == ("flu/bounds", "ChoiceSeries")


def test_the_same_version_is_free(wide: Path, ameles: Program) -> None:
    first = json.loads(ameles("bounds", "--epsilon", "0.3", "--version", "a", "--json").out)
    again = ameles("bounds", "--epsilon", "0.3", "--version", "a", "--json")
    assert "stored before, at no cost, entry 1; epsilon 1 left" in again.err
    told = json.loads(again.out)
    assert (first.pop("repeated"), told.pop("repeated")) == (False, True)
    assert told == first
    assert (told["paid"], told["epsilon"], told["population"]) == (
        "epsilon 0.3",
        "3/10",
        "visitors",
    )
    (steps,) = [one for one in told["bounds"] if one["bound"] == "max_steps"]
    assert steps["candidates"] == ["1", "2", "5", "10", "20", "50"]
    assert steps["chosen"] in steps["candidates"]
    assert steps["epsilon"] == "1/10"
    assert steps["worse"] > 0
    assert f"max_steps = {steps['chosen']}" in told["plan"]


def test_it_says_if_the_plan_can_no_longer_be_paid(wide: Path, ameles: Program) -> None:
    ended = ameles("bounds", "--epsilon", "0.2")
    assert "does not suffice" not in ended.err
    ended = ameles("bounds", "--epsilon", "0.2")
    assert "epsilon 0.9 left" in ended.err
    assert "does not suffice for the plan itself, which spends epsilon 1" in ended.err


def test_a_launched_stream_may_ask_for_the_next_plan(site: Path, ameles: Program) -> None:
    ended = ameles("bounds", "--epsilon", "0.1")
    assert ended.code == 3
    assert "'flu/bounds' needs epsilon 0.1; population 'visitors' has 0 left" in ended.err
    assert ameles("ledger", "--renew", "0.1", "--why", "bounds", "--yes").code == 0
    ended = ameles("bounds", "--epsilon", "0.1", "--grid", "max_per_step=1,2")
    assert ended.code == 0, ended.err
    assert "does not suffice" not in ended.err, "the stream was launched before"


def test_a_cap_without_room_for_the_plan_is_refused(fresh: Path, ameles: Program) -> None:
    ended = ameles("bounds", "--epsilon", "0.1")
    assert ended.code == 3
    assert "for its bounds and for itself" in ended.err
    assert not stores(fresh)


def test_grids(wide: Path, ameles: Program) -> None:
    asked = ("bounds", "--epsilon", "0.3", "--dry-run", "--json")
    grids = ("--grid", "max_steps=10,30", "--grid", "max_per_step=1", "--grid", "ages.upper=90,1e2")
    told = json.loads(ameles(*asked, *grids).out)
    assert {one["bound"]: one["candidates"] for one in told["bounds"]} == {
        "max_steps": ["10", "30"],
        "ages.upper": ["90", "100"],
    }
    assert told["bounds"][0]["epsilon"] == "3/20"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), "It needs --epsilon"),
        (("--epsilon", "x"), "epsilon"),
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "0.1", "--grid", "max_steps"), "has no candidates"),
        (("--epsilon", "0.1", "--grid", "=1,2"), "has no candidates"),
        (("--epsilon", "0.1", "--grid", "max_steps=1,x"), "max_steps"),
        (("--epsilon", "0.1", "--grid", "max_steps=1,2", "--grid", "max_steps=3"), "twice"),
        (("--epsilon", "0.1", "--grid", "steps=1,2"), "no bound 'steps'"),
        (("--epsilon", "0.1", "--grid", "max_steps=1,999"), "max_steps"),
    ],
)
def test_what_is_unclear_is_refused_before_anything_is_paid(
    given: tuple[str, ...], told: str, wide: Path, ameles: Program
) -> None:
    ended = ameles("bounds", *given)
    assert ended.code == 2
    assert told in ended.err
    assert not stores(wide)


def test_a_bound_that_costs_no_noise_is_named(wide: Path, ameles: Program) -> None:
    file = wide / "ameles.toml"
    text = file.read_text(encoding="utf-8")
    text = text.replace('"mean"', '"sum"').replace("lower = 0", "lower = -10")
    file.write_text(text, encoding="utf-8")
    ended = ameles("bounds", "--epsilon", "0.3", "--dry-run", "--grid", "ages.upper=90")
    assert "ages.lower stays as it is: no noise depends on it" in ended.err


def test_pan_private_plans_are_refused(wide: Path, ameles: Program) -> None:
    door = Path(__file__).parents[2] / "examples" / "door.toml"
    (wide / "door.toml").write_bytes(door.read_bytes())
    ended = ameles("bounds", "door.toml", "--epsilon", "0.1")
    assert ended.code == 2
    assert "pan-private" in ended.err


def test_fractions_are_written_as_a_plan_takes_them(wide: Path, ameles: Program) -> None:
    file = wide / "ameles.toml"
    text = file.read_text(encoding="utf-8")
    text = text.replace("granularity = 1\n", "granularity = '1/3'\n")
    file.write_text(text, encoding="utf-8")
    given = ("--grid", "ages.upper=1/3,2/3", "--grid", "max_steps=1", "--grid", "max_per_step=1")
    ended = ameles("bounds", "--epsilon", "0.3", *given)
    assert ended.code == 0, ended.err
    (release,) = tomllib.loads(ended.out.split("In the plan:")[1])["release"]
    assert release["upper"] in ("1/3", "2/3")


def test_what_it_says_depends_on_the_data_by_the_choice_alone(
    wide: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(self: Any, scores: Any) -> int:
        self._t += 1
        return 0

    monkeypatch.setattr(ChoiceSeriesRun, "_step", first)
    visits = wide / "visits.csv"
    head, *lines = visits.read_text(encoding="utf-8").splitlines(keepends=True)
    said = []
    for rows in ([], lines[:1], lines):
        visits.write_text("".join([head, *rows]), encoding="utf-8")
        ended = ameles("bounds", "--epsilon", "0.1", "--json")
        assert ended.code == 0, ended.err
        told = json.loads(ended.out)
        said.append({name: value for name, value in told.items() if name != "entry"})
    assert said[0] == said[1] == said[2]
