"""A launch is one: what another process launched meanwhile is not launched again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from ameles.core.exceptions import BudgetExceeded, NotLaunched, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.running.launch import check_price, check_unchanged, launch
from ameles.measures import counter_choice
from ameles.mechanisms.catalogue import mechanism_from_json
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.noise import Zero
from ameles.store import Transaction, open_store
from tests.engine.worlds import World, row


def test_a_stream_that_another_process_launched_just_now_is_refused(tmp_path: Path) -> None:
    plan = World(tmp_path).plan
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())
        refused = pytest.raises(StoreRefused, match="launched by another process just now")
        with refused, store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())


def test_a_stream_that_may_not_be_launched_is_not(tmp_path: Path) -> None:
    """Whatever changed since somebody looked: the store may be another one by now."""
    world = World(tmp_path).write([row(1)])
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        for _ in range(2):
            with pytest.raises(NotLaunched, match="waits for its launch, which spends epsilon"):
                Engine(world.plan, store, launches=False).run()
            with store.reading() as transaction:
                assert transaction.population(world.plan.privacy.population) is None
        Engine(world.plan, store).run()  # a call from Python is a decision
        assert not Engine(world.plan, store, launches=False).run().launched


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


def counter_of(world: World) -> str:
    """The class of the counter that the store has for the release of a world."""
    with closing(open_store(str(world.folder / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        state = transaction.state(stream, "visits")
        assert state is not None
        return type(mechanism_from_json(state.recipe)).__name__


def test_a_launched_stream_keeps_its_counter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HatsCounter, "choosable", False)
    counter_choice._best.cache_clear()
    old = World(tmp_path / "old", horizon=40).write([row(1), row(3)])
    old.run(2)
    monkeypatch.undo()
    counter_choice._best.cache_clear()
    old.run(40)
    assert old.values()[:4] == [1, 1, 2, 2]
    new = World(tmp_path / "new", horizon=40).write([row(1)])
    new.run(2)
    assert counter_of(old) == "SiblingsCounter"
    assert counter_of(new) == "HatsCounter"
