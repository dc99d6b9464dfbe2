"""A cap has a delta, too: plans that discover keys spend it, and a renewal can add to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program

PLAN = """
[stream]
name = "{name}"
source = "messages.csv"
time = "at"
columns = {{ at = "timestamp", who = "text", tag = "text" }}
start = "2026-01-01"
every = "1d"
horizon = 4

[privacy]
population = "writers"
unit = "user"
user = "who"
max_per_step = 1
max_steps = 1
epsilon = 1
{delta}

[[release]]
name = "tags"
measure = "count"
{by}

[store]
url = "tags.db"
"""
DELTA, BY = "delta = 1e-9", 'by = { tag = "discovered" }'
WHY = "--why", "a second list", "--yes"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "messages.csv").write_text("at,who,tag\n", encoding="utf-8")
    return tmp_path


def write(folder: Path, name: str, delta: str = DELTA, by: str = BY) -> str:
    text = PLAN.format(name=name, delta=delta, by=by)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return f"{name}.toml"


def test_a_second_plan_that_discovers_keys_needs_a_second_delta(
    folder: Path, ameles: Program
) -> None:
    first, second = write(folder, "first"), write(folder, "second")
    assert ameles("run", first, "--until", "2026-01-02").code == 0
    assert ameles("ledger", first, "--renew", "1", *WHY).code == 0
    assert ameles("run", second, "--until", "2026-01-02").code == 3, "there is no delta left"
    renewed = ameles("ledger", first, "--delta", "1e-9", *WHY)
    assert renewed.err.startswith(
        "Added epsilon 0, delta 1e-09 to the cap of population 'writers'."
    )
    assert ameles("run", second, "--until", "2026-01-02").code == 0
    cap = json.loads(ameles("ledger", first, "--json").out)["cap"]
    assert cap == {"currency": "approx", "epsilon": "2", "delta": "1/500000000"}


def test_a_budget_is_renewed_by_a_delta_as_well(folder: Path, ameles: Program) -> None:
    plan = "--plan", write(folder, "first")
    opened = ameles("budget", "open", "study", "--epsilon", "1", "--delta", "1e-12", *plan)
    assert opened.code == 0, opened.err
    both = ameles("budget", "renew", "study", "--epsilon", "0.5", "--delta", "1e-9", *plan, *WHY)
    assert "Added epsilon 0.5, delta 1e-09 to the cap of budget 'study'." in both.err
    alone = ameles("budget", "renew", "study", "--delta", "1e-9", *plan, *WHY)
    assert "Added epsilon 0, delta 1e-09 to the cap of budget 'study'." in alone.err
    (study,) = json.loads(ameles("budget", "list", "--json", *plan).out)["budgets"]
    assert study["cap"]["delta"] == "2001/1000000000000"


def test_a_delta_that_cannot_be_added(folder: Path, ameles: Program) -> None:
    plan = write(folder, "first")
    assert ameles("run", plan, "--until", "2026-01-02").code == 0
    for delta, told in (
        ("0", "--delta must be above 0 and at most 0.01."),
        ("0.011", "--delta must be above 0 and at most 0.01."),
        ("-1", "delta"),
        ("much", "delta"),
    ):
        ended = ameles("ledger", plan, "--delta", delta, *WHY)
        assert (ended.code, ended.out) == (2, "")
        assert told in ended.err
    assert ameles("ledger", plan, "--delta", "1e-9").code == 2, "why is not told"
    cap = json.loads(ameles("ledger", plan, "--json").out)["cap"]
    assert cap == {"currency": "approx", "epsilon": "1", "delta": "1/1000000000"}


def test_a_cap_without_a_delta_stays_without(folder: Path, ameles: Program) -> None:
    plan = write(folder, "pure", delta="", by="")
    assert ameles("run", plan, "--until", "2026-01-02").code == 0
    ended = ameles("ledger", plan, "--renew", "1", "--delta", "1e-9", *WHY)
    assert (ended.code, ended.out) == (2, "")
    assert "--delta cannot be added to a cap of epsilon 1." in ended.err
    assert "left of epsilon 1." in ameles("ledger", plan).out
