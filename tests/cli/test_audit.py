"""The command ``ameles audit``: its table, its JSON, its exit codes, its progress."""

from __future__ import annotations

import io
import json
import sys
from fractions import Fraction

import pytest
from typer.testing import CliRunner, Result

from ameles.audit import Verdict, exact_loss
from ameles.audit.subjects import names, subjects
from ameles.cli import audit
from ameles.cli.commands import app
from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.recipe import CounterRecipe
from tests.audit.mutants import CeilingOfTheLogarithm, FloatWeights, TwiceTheDraw
from tests.cli.conftest import Program


def ask(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["audit", *arguments])


def test_a_table_of_all_mechanisms() -> None:
    ended = ask("--horizon", "3")
    assert ended.exit_code == 0, ended.stderr
    lines = ended.stdout.splitlines()
    heads = ("mechanism", "T", "intrusions", "claimed", "exact", "verdict", "worst", "pair")
    assert lines[0].split() == [*heads]
    for name in names():
        assert any(line.startswith(name) and " certified" in line for line in lines)
    assert ended.stderr.endswith("none refuted.\n")


def test_counters_with_private_state_are_audited_for_every_intrusion() -> None:
    ended = ask("PanPrivateCounter", "PanPrivateTreeCounter", "--horizon", "2")
    assert ended.exit_code == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()[2:10]]
    shown = [(line[0], " ".join(line[1:-5]).partition(" epsilon")[0]) for line in lines]
    ways = ["2 one", "2, no end one", "2 announced", "2, no end announced"]
    assert [name for name, _ in shown] == ["PanPrivateCounter"] * 4 + ["PanPrivateTreeCounter"] * 4
    assert [way for _, way in shown] == ways * 2
    assert all("certified" in line for line in lines)
    assert "state seen" in ended.stdout


def test_json_says_against_what_and_when_the_state_was_seen() -> None:
    findings = json.loads(ask("PanPrivateTreeCounter", "--horizon", "2", "--json").stdout)
    assert [(one["intrusions"], one["horizon"]) for one in findings] == [
        *(("one", 2), ("one", None), ("announced", 2), ("announced", None))
    ]
    for one in findings:
        assert one["exact"] == "1"
        assert one["worst"]["seen"]


def test_a_narrow_terminal_gets_the_worst_pairs_below() -> None:
    narrow = CliRunner(env={"COLUMNS": "80"})
    ended = narrow.invoke(app, ["audit", "PanPrivateCounter", "--horizon", "2"])
    assert max(map(len, ended.stdout.splitlines()[:6])) <= 80
    assert "worst pair" not in ended.stdout
    assert "\nPanPrivateCounter: step 2 by 1; state seen with an input added" in ended.stdout


def test_json_is_for_programs() -> None:
    ended = ask("SimpleOneCounter", "--epsilon", "1/3", "--json")
    (finding,) = json.loads(ended.stdout)
    assert ended.stderr == ""
    assert (finding["steps"], finding["exact"], finding["verdict"]) == (16, "1/3", "certified")


def test_all_horizons_make_one_line_and_many_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ALL_HORIZONS", range(1, 6))
    ended = ask("SimpleTwoCounter", "--all")
    assert ended.exit_code == 0
    assert "1 to 5" in ended.stdout
    assert "T = " in ended.stdout
    assert ended.stderr == "5 audits, none refuted.\n"
    findings = json.loads(ask("SimpleTwoCounter", "--all", "--json").stdout)
    assert [finding["steps"] for finding in findings] == [1, 2, 3, 4, 5]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(wanted: object, *, epsilon: str, horizon: int) -> list[CounterRecipe]:
        return [
            CeilingOfTheLogarithm(epsilon=epsilon, horizon=horizon),
            TwiceTheDraw(epsilon=epsilon, horizon=horizon),
        ]

    monkeypatch.setattr(audit, "subjects", two)


@pytest.mark.usefixtures("broken")
def test_a_refuted_claim_is_the_exit_code() -> None:
    ended = ask("--horizon", "4")
    assert ended.exit_code == 1
    assert "1.5" in ended.stdout
    assert "refuted" in ended.stdout
    assert "not certified: " in ended.stdout
    assert "(TwiceTheDraw)" in ended.stdout
    assert ended.stderr == "2 audits, 1 refuted, 1 neither certified nor refuted.\n"
    assert ask("--horizon", "4", "--json").exit_code == 1


@pytest.mark.usefixtures("broken")
def test_what_is_not_certified_has_an_exit_code_of_its_own() -> None:
    ended = ask("--horizon", "3")
    assert ended.exit_code == 5
    assert ended.stderr == "2 audits, none refuted, 1 neither certified nor refuted.\n"
    assert ask("--horizon", "3", "--json").exit_code == 5


def test_what_is_not_linear_has_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "subjects", lambda *_, **__: [FloatWeights(epsilon=1, horizon=3)])
    assert ask("--horizon", "3").exit_code == 5


def test_what_a_certificate_covers() -> None:
    ended = ask("SimpleOneCounter", "SimpleTwoCounter", "--horizon", "3")
    (covered,) = (line for line in ended.stdout.splitlines() if line.startswith("Covered: "))
    assert covered == (
        "Covered: all steps of a run with the horizon T, and no other horizon (SimpleOneCounter); "
        "one number, and no vector; neighbours that differ in 1 step by at most 1 (L1); "
        "the first T steps of a run without end, and no later ones (SimpleTwoCounter)."
    )
    (finding, _) = json.loads(ask("SimpleOneCounter", "SimpleTwoCounter", "--json").stdout)
    assert finding["covers"][1] == "one number, and no vector"


@pytest.mark.usefixtures("broken")
def test_without_a_certificate_nothing_is_covered() -> None:
    assert "Covered" not in ask("--horizon", "4").stdout


def test_what_was_tried_and_what_cannot_be_seen() -> None:
    asked = "SimpleOneCounter", "SimpleTwoCounter", "RandomizedResponseCounter"
    lines = ask(*asked, "--horizon", "2").stdout.splitlines()
    (tried,) = (line for line in lines if line.startswith("Tried: "))
    (unseen,) = (line for line in lines if line.startswith("Not seen: "))
    assert "; runs resumed before every step; " in tried
    assert "; inputs up to 2^48, of both signs (SimpleOneCounter, SimpleTwoCounter)" in tried
    assert "branches on data in compiled code;" in unseen
    many = ask("--horizon", "1").stdout
    lines_in_all = len(subjects(epsilon=1, horizon=1))
    assert f" (2 of {lines_in_all} lines)" not in many
    assert f"of {lines_in_all} lines)" in many


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Nope"], "no mechanism called Nope"),
        (["--all", "--horizon", "4"], "--all already takes every horizon"),
        (["--horizon", "0"], "'horizon'"),
        (["--epsilon", "much"], "'epsilon'"),
    ],
)
def test_refusals(arguments: list[str], said: str) -> None:
    ended = ask(*arguments)
    assert isinstance(ended.exception, BadInput)
    assert said in str(ended.exception)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("patience", [-1.0, 1e9])
def test_progress_is_told_on_a_terminal_after_a_while(
    patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "QUIET_SECONDS", patience)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with audit.AuditProgress() as progress:
        progress.says("SimpleOneCounter, 8 steps")
        assert progress.shown is (patience < 0)


def test_the_gravest_finding_is_shown() -> None:
    recipe = CeilingOfTheLogarithm(epsilon=1, horizon=4)
    findings = [exact_loss(recipe, steps=steps) for steps in (1, 4)]
    assert findings[0].verdict is Verdict.CERTIFIED
    assert max(findings, key=audit.gravity).exact == Fraction(3, 2)


def test_a_horizon_that_would_take_for_ever_is_refused(ameles: Program) -> None:
    for horizon in ("16385", "9" * 400):
        ended = ameles("audit", "SimpleOneCounter", "--horizon", horizon)
        assert ended.code == 2
        assert "at most 16384" in ended.err
