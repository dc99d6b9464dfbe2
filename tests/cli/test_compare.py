"""The comparison: what it shows, what it writes, what it refuses, and the bound beside it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ameles.cli.commands import app
from ameles.cli.compare import whole_number
from ameles.cli.comparison import BETA, comparison
from ameles.core.exceptions import BadInput
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.choose import counter
from ameles.plot import PlotTable


def ask(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments], env=environment)


def refusal(*arguments: str) -> str:
    ended = ask(*arguments)
    assert isinstance(ended.exception, BadInput), ended.output
    assert ended.exception.exit_code == 2
    assert ended.stdout == ""
    return str(ended.exception)


def report(*arguments: str) -> Any:
    ended = ask(*arguments, "--json")
    assert ended.exit_code == 0, ended.output
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def test_the_best_is_on_top_and_every_column_is_explained() -> None:
    ended = ask("--horizon", "2^10", "--epsilon", "1")
    assert ended.exit_code == 0
    heads, _, best, *others = ended.stdout.splitlines()
    assert heads.split() == [
        *("mechanism", "mean", "worst", "last", "±95%", "memory", "÷", "best", "÷", "bound", "why")
    ]
    assert best.split()[:3] == ["HatsCounter", "9.89", "11.2"]
    assert best.rstrip().endswith("noises of scale 1")
    assert {line.split()[0] for line in others} >= {"BinaryCounter", "SimpleOneCounter"}
    assert "all 1024 steps" in ended.stderr
    for head in ("mean ", "worst ", "last ±95%", "memory", "÷ bound"):
        assert f"{head} " in ended.stderr


def test_why_is_how_many_noises_of_what_scale() -> None:
    compared = comparison(epsilon=1, horizon=1024)
    why = {line.mechanism: line.why for line in compared.lines}
    assert why["SimpleOneCounter"] == "like 1 noise of scale 1024"
    # popcount is 5.0 on average over t = 1, ..., 1024, on 11 levels
    assert why["BinaryCounter"] == "like 5.0 noises of scale 11"
    assert why["SimpleTwoCounter"] == "like 512 noises of scale 1"


def test_a_narrow_terminal_gets_the_reasons_below() -> None:
    arguments = ("--horizon", "2^10", "--epsilon", "1")
    ended = ask(*arguments, COLUMNS="80", FORCE_COLOR="1", NO_COLOR="1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    assert max(map(len, plain.splitlines())) <= 80
    assert "\nSimpleOneCounter: like 1 noise of scale 1024\n" in ended.stdout
    assert "why" not in ended.stdout


def test_json_has_recipes_that_can_be_started() -> None:
    compared = report("--horizon", "1024", "--epsilon", "0.5", "--width", "3")
    best = recipe_from_json(json.dumps(compared["mechanisms"][0]["recipe"]))
    assert best == counter(epsilon="0.5", horizon=1024, width=3)
    assert compared["bound_on"] == "all steps with 95%"
    assert compared["steps"] == compared["looked_at"] == 1024


def test_other_questions() -> None:
    endless = report("--unbounded", "--epsilon", "1")
    assert endless["mechanisms"][0]["mechanism"] == "EndlessHatsCounter"
    assert endless["looked_at"] < endless["steps"]
    worst = report("--horizon", "2^8", "--epsilon", "1", "--optimise", "worst")["mechanisms"]
    assert worst[0]["worst"] == min(line["worst"] for line in worst)
    first = report("--horizon", "2^8", "--epsilon", "1", "--optimise", "1")["mechanisms"]
    assert first[0]["recipe"] != worst[0]["recipe"]
    assert first[0]["to_best"] == 1
    thrice = report("--horizon", "2^8", "--epsilon", "1", "--contributions", "3")["mechanisms"]
    once = report("--horizon", "2^8", "--epsilon", "1")["mechanisms"]
    assert thrice[0]["mean"] > 2.9 * once[0]["mean"]


def test_with_a_delta_the_bound_is_that_of_gaussian_noise() -> None:
    compared = report("--horizon", "2^10", "--epsilon", "1", "--delta", "1e-6")
    assert compared["bound_on"] == "mean"
    # 4.531 sigma for (1, 1e-6) times 2.910, the nuclear norm over T
    assert compared["bound"] == pytest.approx(4.531 * 2.910, rel=1e-3)
    assert "Gaussian" in ask("--horizon", "8", "--epsilon", "1", "--delta", "1e-6").stderr


@pytest.mark.parametrize(
    ("intrusions", "best"),
    [
        ("none", "HatsCounter"),
        ("one", "PanPrivatePlaceCounter"),
        ("announced", "PanPrivatePlaceCounter"),
        ("every", "SimpleTwoCounter"),
    ],
)
def test_intrusions(intrusions: str, best: str) -> None:
    arguments = ("--horizon", "2^10", "--epsilon", "1", "--intrusions", intrusions)
    compared = report(*arguments)
    assert compared["intrusions"] == intrusions
    assert compared["mechanisms"][0]["mechanism"] == best
    recipe = recipe_from_json(json.dumps(compared["mechanisms"][0]["recipe"]))
    assert recipe == counter(epsilon=1, horizon=1024, intrusions=intrusions)
    said = ask(*arguments).stderr
    assert ("before any intrusion was announced" in said) is (intrusions == "announced")


def test_against_intrusions_everywhere_the_bound_is_that_of_their_number() -> None:
    # Thm 4.3: of the order of sqrt(n), and the random walk is within a factor of three of it
    for horizon in (2**10, 2**16):
        compared = comparison(epsilon=1, horizon=horizon, intrusions="every")
        assert compared.bound > 0.7 * math.sqrt(horizon)
        assert compared.lines[0].to_bound is not None
        assert 1 <= compared.lines[0].to_bound < 3
    short = comparison(epsilon=1, horizon=2, intrusions="every")
    assert all(line.to_bound is None or line.to_bound >= 1 for line in short.lines)


def test_gaussian_noise_is_not_offered_against_intrusions() -> None:
    with_delta = comparison(epsilon=1, delta="1e-6", horizon=1024, intrusions="one")
    without = comparison(epsilon=1, horizon=1024, intrusions="one")
    assert with_delta == without
    assert not with_delta.gaussian


def test_without_an_end_no_single_scale_is_named() -> None:
    compared = comparison(epsilon=1, horizon=None, intrusions="one")
    why = {line.mechanism: line.why for line in compared.lines}
    assert why["PanPrivateTreeCounter"] == "the smallest error"
    assert "noises of scale" not in why["PanPrivateCounter"]
    known = comparison(epsilon=1, horizon=1024, intrusions="one")
    assert "like 11.0 noises of scale 11" in {line.why for line in known.lines}


@pytest.mark.parametrize("contributions", [1, 2, 3, 7, 300])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_no_promise_is_below_the_bound(contributions: int, epsilon: float) -> None:
    compared = comparison(epsilon=epsilon, horizon=256, contributions=contributions)
    k = round(2 * compared.bound)
    if k:  # k ones are ceil(k / m) units away from none, in each of T // k places
        units = math.ceil(k / contributions)
        assert 256 // k * (1 - BETA) * math.exp(-epsilon * units) > 1
    assert all(line.to_bound is None or line.to_bound >= 1 for line in compared.lines)


def test_files(tmp_path: Path) -> None:
    csv, picture = tmp_path / "table.csv", tmp_path / "table.svg"
    ended = ask("--horizon", "16", "--epsilon", "1", "--csv", str(csv), "--plot", str(picture))
    assert ended.exit_code == 0, ended.output
    table = PlotTable.read(csv)
    assert "SiblingsCounter" in table.column("mechanism")
    assert min(table.column("to_best")) == 1
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert f"Wrote {picture}." in ended.stderr
    nowhere = str(tmp_path / "missing" / "table.csv")
    late = ask("--horizon", "16", "--epsilon", "1", "--csv", nowhere)
    assert "cannot be written: No such file or directory" in str(late.exception)


def test_refusals() -> None:
    assert "Exactly one of --horizon and --unbounded" in refusal("--epsilon", "1")
    both = ("--epsilon", "1", "--horizon", "8", "--unbounded")
    assert "Exactly one of --horizon and --unbounded" in refusal(*both)
    asked = ("--epsilon", "1", "--horizon")
    assert "such as 65536 or 2^16" in refusal(*asked, "2x")
    assert "'horizon' parameter must be" in refusal(*asked, "0")
    assert "'horizon' parameter must be" in refusal(*asked, "2^99")
    assert "'mean', 'worst' or the number of a step" in refusal(*asked, "8", "--optimise", "best")
    assert "'optimise' parameter must be" in refusal(*asked, "8", "--optimise", "9")
    assert "'epsilon' parameter must be" in refusal("--epsilon", "0", "--horizon", "8")
    assert "'none', 'one', 'announced' or" in refusal(*asked, "8", "--intrusions", "two")
    assert "must end in .png or .svg" in refusal(*asked, "8", "--plot", "table.pdf")


def test_numbers_as_people_write_them() -> None:
    assert [whole_number(text, "n") for text in ("12", " 2^4 ", "2**4", "1_000", "0")] == [
        *(12, 16, 16, 1000, 0)
    ]
    for text in ("", "-1", "1.5", "2^", "^2", "2^-1", "9" * 50, "1e6", "²"):
        with pytest.raises(BadInput, match="whole number"):
            whole_number(text, "n")
