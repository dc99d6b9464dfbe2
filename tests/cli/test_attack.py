"""`ameles attack`: the list, a report, its picture, and what is refused."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ameles.audit.attacks.catalogue import ATTACKS
from ameles.cli.commands import app
from ameles.core.exceptions import BadInput


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["attack", *arguments])


def test_without_a_name_all_attacks_are_listed() -> None:
    ended = ask()
    assert ended.exit_code == 0
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(ATTACKS)
    assert set(json.loads(ask("--json").stdout)) == set(ATTACKS)


def test_a_report_tells_the_story_the_numbers_and_what_they_mean() -> None:
    ended = ask("differencing")
    assert ended.exit_code == 0, ended.output
    story, numbers, meaning = (
        ended.stdout.index(text)
        for text in ("The attacker", "Ameles: two private counts", "A rule about")
    )
    assert story < numbers < meaning
    assert "100.0%" in ended.stdout
    assert "73.1%" in ended.stdout


def test_an_epsilon_of_ones_own() -> None:
    report = json.loads(ask("differencing", "--epsilon", "0.1", "--json").stdout)
    assert report["targets"][-1]["allowed"] == pytest.approx(0.52498, abs=1e-5)


@pytest.mark.parametrize("name", ["differencing", "silence", "averaging"])
def test_the_picture_has_every_target(name: str, tmp_path: Path) -> None:
    file = tmp_path / "attack.svg"
    ended = ask(name, "--plot", str(file))
    assert ended.exit_code == 0, ended.output
    assert "Wrote" in ended.stderr
    text = file.read_text(encoding="utf-8")
    assert "without looking" in text
    assert "Ameles" in text


def test_a_name_may_have_capitals_and_hyphens_and_a_wrong_one_gets_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = partial(ATTACKS["floating_point"], games=10)
    monkeypatch.setitem(ATTACKS, "floating_point", quick)
    report = json.loads(ask("Floating-Point", "--json").stdout)
    assert report["name"] == "floating_point"
    assert "try: seizure" in str(ask("siezure").exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["linkage", "--epsilon", "-1"],
        ["linkage", "--plot", "picture.pdf"],
        ["--plot", "picture.svg"],
        ["--epsilon", "1"],
    ],
)
def test_what_is_refused(arguments: list[str]) -> None:
    ended = ask(*arguments)
    assert isinstance(ended.exception, BadInput), ended.output
    assert ended.stdout == ""


def test_a_picture_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    ended = ask("silence", "--plot", str(tmp_path / "missing" / "a.svg"))
    assert isinstance(ended.exception, BadInput)
    assert "cannot be written" in str(ended.exception)
    assert ended.stdout == "", "before the slow computation"
