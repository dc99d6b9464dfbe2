"""``ameles plan``: the promise in words, the forecast, the budget; nothing read, nothing spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ameles.mechanisms.catalogue import recipe_from_json
from ameles.plan.plan import read_plan
from tests.cli.conftest import Program
from tests.cli.test_run import change


def test_it_promises_in_words_and_forecasts_without_reading(fresh: Path, ameles: Program) -> None:
    (fresh / "visits.csv").unlink()  # a dry run needs no data at all
    ended = ameles("plan")
    assert ended.code == 0
    assert "publishes 7 numbers every day from 2025-10-01 00:00 UTC on, for 182 steps" in ended.out
    assert "if one user with all events is added or removed" in ended.out
    assert "it counts at most 1 event in a step, in at most 6 steps, and drops" in ended.out
    assert "It spends epsilon 1 of population 'visitors', once" in ended.out
    assert "at most 73% sure (epsilon 1)" in ended.out
    line = next(line for line in ended.out.splitlines() if line.startswith("visits "))
    assert line.split() == ["visits", "count,", "7d", "4", "0.35", "51", "128", "128"]
    assert "outbreak: WindowMonitors, because quiet steps cost it nothing" in ended.out
    assert "For outbreak, ± is that of the count near the threshold." in ended.err
    assert "is new: the first run opens it with this plan's epsilon 1 as its cap." in ended.err
    assert [file.name for file in fresh.iterdir()] == ["ameles.toml"]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("delta", ["", "\ndelta = 1e-6"])
@pytest.mark.parametrize(("epsilon", "warned"), [("5", False), ("6", True), ("1000", True)])
def test_a_loss_that_hides_nobody_is_a_warning(
    ameles: Program, epsilon: str, delta: str, warned: bool
) -> None:
    change("epsilon = 1.0", f"epsilon = {epsilon}{delta}")
    said = ameles("plan").out
    assert "100% sure" not in said
    assert ("Warning: at this epsilon the noise hides nobody" in said) == warned
    assert ("can become at most 99% sure (epsilon 5)" in said) == (not warned and not delta)


@pytest.mark.usefixtures("fresh")
def test_json_has_recipes_that_can_be_started(ameles: Program) -> None:
    ended = ameles("plan", "ameles.toml", "--json")
    assert ended.err == ""
    document = json.loads(ended.out)
    assert document["loss"] == {"currency": "pure", "epsilon": "1"}
    recipes = read_plan(Path("ameles.toml")).recipes
    for release in document["releases"]:
        assert recipe_from_json(json.dumps(release["recipe"])) == recipes[release["release"]]
        assert len(release["half_widths"]) == 3


@pytest.mark.usefixtures("site")
def test_it_says_what_the_population_has_left(ameles: Program) -> None:
    assert "stream 'flu' was launched and is paid for." in ameles("plan").err
    change('name = "flu"', 'name = "other"')
    assert "needs epsilon 1 and would be refused." in ameles("plan").err
    assert ameles("ledger", "--renew", "5", "--why", "more", "--yes").code == 0
    assert "launching this stream would spend epsilon 1 of it." in ameles("plan").err
    change('population = "visitors"', 'population = "others"\ncap = 3')
    assert "the first run opens it with a cap of epsilon 3." in ameles("plan").err
    change("cap = 3", "cap = 0.5")
    small = "a cap of epsilon 0.5; launching this stream needs epsilon 1 and would be refused."
    assert small in ameles("plan").err


@pytest.mark.usefixtures("fresh")
def test_other_units_and_losses_are_told(ameles: Program) -> None:
    change('unit = "user" ', 'unit = "user-window"\nwindow = "14d" ')
    change("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6")
    change("horizon = 182", "")
    change('late = "next"', 'late = "drop"')
    ended = ameles("plan")
    assert ended.code == 0, ended.err
    assert "for as long as it runs" in ended.out
    assert "The loss is per window: over several windows it adds up." in ended.out
    assert "delta 1e-06" in ended.out
    assert "can become" not in ended.out  # that bound is for pure losses
    assert "are dropped." in ended.out


def test_a_store_that_is_none_is_told_and_no_error(site: Path, ameles: Program) -> None:
    for file in site.glob("flu.db*"):
        file.unlink()
    (site / "flu.db").write_bytes(b"something else")
    (site / "flu.db").chmod(0o600)
    ended = ameles("plan")
    assert ended.code == 0
    assert "cannot be used" in ended.err


@pytest.mark.usefixtures("fresh")
def test_all_problems_are_told_at_once(ameles: Program) -> None:
    change("horizon = 182", "horizn = 182")
    change("threshold = 3000", 'threshold = "many"')
    ended = ameles("plan")
    assert ended.code == 2
    assert ended.err.count("error[plan]") == 2


@pytest.mark.usefixtures("fresh")
def test_what_a_launch_refuses_is_said(ameles: Program, fresh: Path) -> None:
    change("epsilon = 1.0", "epsilon = 1.0\ndelta = 0.5")
    for command in ("plan", "run"):
        ended = ameles(command)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error[plan]: privacy.delta: It is 0.5")
    assert sorted(file.name for file in fresh.iterdir()) == ["ameles.toml", "visits.csv"]


def test_what_was_launched_is_not_refused(ameles: Program, site: Path) -> None:
    change('csv = "releases.csv"', 'csv = "visits.csv"')  # a sink may be changed
    assert ameles("plan").code == 0


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (None, "No file matches the source 'visits.csv'."),
        ("when,who\n", "The file 'visits.csv' has no column 'reported_at' in its first line."),
    ],
)
def test_a_source_that_a_run_refuses(
    ameles: Program, fresh: Path, file: str | None, said: str
) -> None:
    (fresh / "visits.csv").unlink()
    if file is not None:
        (fresh / "visits.csv").write_text(file, encoding="utf-8")
    ended = ameles("plan")
    assert ended.code == 0  # a plan may be written before its data is there
    assert f"A run would refuse the source as it is now: {said}" in ended.err
    refused = ameles("run")
    assert refused.code == 2
    assert said in refused.err
    assert not any(path.suffix == ".db" for path in fresh.iterdir())


def test_a_store_that_is_the_source(ameles: Program, fresh: Path) -> None:
    change('url = "flu.db"', 'url = "visits.csv"')
    before = (fresh / "visits.csv").read_bytes()
    for command in ("plan", "run"):
        ended = ameles(command)
        assert ended.code == 2
        assert "store.url: 'visits.csv' is among the files that the source names." in ended.err
        assert "chmod" not in ended.err
    assert (fresh / "visits.csv").read_bytes() == before


def test_windows_that_do_not_line_up_are_told(ameles: Program, fresh: Path) -> None:
    change('unit = "user" ', 'unit = "user-window"\nwindow = "14d" ')
    change("epsilon = 1.0", "epsilon = 1.0\ncap = 9")
    assert ameles("run").code == 0
    change('name = "flu"', 'name = "other"')
    change('start = "2025-10-01"', 'start = "2025-10-02"')
    for command in ("plan", "run"):
        ended = ameles(command)
        assert ended.code == 2
        assert 'try: start = "2025-10-01" or start = "2025-10-15"' in ended.err


@pytest.mark.usefixtures("site")
def test_a_plan_that_was_changed_after_its_launch_is_refused(ameles: Program) -> None:
    change("epsilon = 1.0", "epsilon = 5.0")
    ended = ameles("plan")
    assert (ended.code, ended.out) == (2, "")
    assert "The plan of stream 'flu' has changed since it was launched" in ended.err
    assert "paid for as it was" in ended.err
