"""A launch is one: what another process launched meanwhile is not launched again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from ameles.core.exceptions import BudgetExceeded, PlanError, StoreRefused
from ameles.engine.running.launch import check_price, check_unchanged, launch
from ameles.noise import Zero
from ameles.store import Transaction, open_store
from tests.engine.worlds import World


def test_a_stream_that_another_process_launched_just_now_is_refused(tmp_path: Path) -> None:
    plan = World(tmp_path).plan
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())
        refused = pytest.raises(StoreRefused, match="launched by another process just now")
        with refused, store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())


def test_a_population_that_is_not_there_after_it_was_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Transaction, "ledger", lambda *_, **__: None)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        refused = pytest.raises(StoreRefused, match="cannot be found after it was opened")
        with refused, store.writing() as transaction:
            launch(transaction, World(tmp_path).plan, uuid4(), Zero())


def test_a_plan_that_changed_since_its_launch_is_refused(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.writing() as transaction:
        stream = launch(transaction, World(tmp_path).plan, uuid4(), Zero())
    check_unchanged(World(tmp_path).plan, stream)
    with pytest.raises(PlanError, match="has changed since it was launched"):
        check_unchanged(World(tmp_path, epsilon="2").plan, stream)


def test_a_cap_below_the_plans_own_loss_is_refused(tmp_path: Path) -> None:
    check_price(World(tmp_path, epsilon="2\ncap = 2").plan)
    with pytest.raises(BudgetExceeded):
        check_price(World(tmp_path, epsilon="2\ncap = 1").plan)
