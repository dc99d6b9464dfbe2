"""Who pays for bounds: the plan's population in its store, once, also after a kill."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import BudgetExceeded, PlanError
from ameles.core.loss import Pure
from ameles.engine.private_bounds import choose
from tests.warm_processes import run as run_warm

from .choices import USERS, WINDOWS
from .paying import CAPPED, Died, ask, left, store_of, world_with

ROOT = Path(__file__).parents[3]


def test_the_plans_population_pays_and_the_launch_pays_the_rest(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    answer = ask(world)
    assert (answer.entry, answer.paid, left(world)) == (1, "epsilon 0.5", Pure("1.5"))
    with store_of(world) as store, store.reading() as transaction:
        (asked,) = transaction.questions("people")
        ledger = transaction.ledger("people")
    assert asked.answer == answer.to_json()
    assert ledger is not None
    assert [entry.on for entry in ledger.entries] == ["s/bounds"]
    world.earnest(3)
    assert left(world) == Pure("0.5")


def test_a_cap_that_leaves_nothing_for_the_plan_is_refused_and_no_store_is_made(
    tmp_path: Path,
) -> None:
    world = world_with(tmp_path, USERS)  # the cap is the plan's own epsilon
    with pytest.raises(BudgetExceeded, match="for its bounds and for itself") as refused:
        ask(world)
    assert "cap in [privacy]" in refused.value.tip
    assert not (tmp_path / "s.db").exists()
    other = world_with(tmp_path / "other")
    ask(other)
    text = other.text.replace('"people"', '"others"').replace("cap = 2", "cap = 1")
    other.text = text  # the store exists, its population does not
    with pytest.raises(BudgetExceeded, match="for its bounds and for itself"):
        ask(other)
    with store_of(other) as store, store.reading() as transaction:
        assert [one.name for one in transaction.populations()] == ["people"]


def test_an_open_population_pays_until_its_cap(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    for _ in range(4):
        ask(world)
    with pytest.raises(BudgetExceeded, match=r"'s/bounds' needs epsilon 0\.5"):
        ask(world)


def test_the_budget_that_the_plan_names_pays(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    ask(world)
    with store_of(world) as store, store.writing() as transaction:
        transaction.open_budget("people", "study", cap=Pure("0.6"))
    named = world_with(tmp_path, CAPPED + '\nbudget = "study"')
    ask(named)
    with pytest.raises(BudgetExceeded, match=r"budget 'study' has 0\.1 left"):
        ask(named)


def test_windows_of_a_population_line_up_from_the_first_payment_on(tmp_path: Path) -> None:
    world = world_with(tmp_path, WINDOWS + "\ncap = 3")
    ask(world)
    later = world_with(tmp_path, WINDOWS + "\ncap = 3")
    later.text = later.text.replace('start = "2026-01-01"', 'start = "2026-01-02"')
    with pytest.raises(PlanError, match="do not line up"):
        ask(later)
    hours = world_with(tmp_path, WINDOWS + "\ncap = 3")
    hours.text = hours.text.replace('every = "1d"', 'every = "12h"').replace("= 8", "= 16")
    ask(hours)  # the same windows, in other steps
    assert left(world) == Pure(2)
    users = world_with(tmp_path)
    with pytest.raises(PlanError, match="is protected per 4d"):
        ask(users)


@pytest.mark.parametrize("version", [None, "v1"])
def test_after_an_end_between_debit_and_answer_the_same_is_computed_again_at_no_cost(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with(tmp_path)

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(choose, "_clipped", die)
        with pytest.raises(Died):
            ask(world, version)
    assert left(world) == Pure("1.5"), "the debit stands"
    answer = ask(world, version)
    assert (answer.entry, left(world)) == (1, Pure("1.5"))
    assert ask(world, version).entry == (2 if version is None else 1)


KILLED = """
import os, signal, sys
from pathlib import Path
from ameles.engine.private_bounds import choose
from tests.engine.private_bounds.paying import ask, world_with
if sys.argv[2] == "kill":
    choose._clipped = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
print(ask(world_with(Path(sys.argv[1]))).entry)
"""


def test_killed_between_debit_and_answer(tmp_path: Path) -> None:
    def run(how: str) -> subprocess.CompletedProcess[str]:
        return run_warm("-c", KILLED, str(tmp_path), how, cwd=ROOT)

    assert run("kill").returncode == -signal.SIGKILL
    ended = run("answer")
    assert (ended.stdout.strip(), ended.stderr) == ("1", "")
    assert left(world_with(tmp_path)) == Pure("1.5")
