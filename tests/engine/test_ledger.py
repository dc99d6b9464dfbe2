"""Budgets under race: what the cap allows is launched, whole, and nothing else happened."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import BudgetExceeded
from ameles.core.loss import Pure
from ameles.engine.engine import Engine
from ameles.ledger import Ledger
from ameles.store import Transaction, open_store
from tests.engine.racing import race
from tests.engine.worlds import COUNT, World, row

RACERS = 8
TWO = COUNT + COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'


def plans(folder: Path, names: list[str], epsilon: str) -> list[Path]:
    """Plans on one store, file and population, each in a file of its own."""
    files = []
    for number, name in enumerate(names):
        world = World(folder, TWO, epsilon=epsilon).write([row(1), row(2)])
        file = folder / f"{number}.toml"
        file.write_text(world.text.replace('name = "s"', f'name = "{name}"'), encoding="utf-8")
        files.append(file)
    return files


def ledger_of(transaction: Transaction) -> Ledger:
    ledger = transaction.ledger("people")
    assert ledger is not None
    return ledger


def test_as_many_launch_as_the_cap_allows(tmp_path: Path) -> None:
    names = [f"s{n}" for n in range(RACERS)]
    outcomes = race(plans(tmp_path, names, '"1/3"\ncap = 1'))
    assert Counter(outcomes) == {"launched": 3, "budget": RACERS - 3}
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        ledger = ledger_of(transaction)
        assert (ledger.spent, ledger.left) == (Pure(1), Pure(0))
        assert len(ledger.entries) == 3 * 2
        launched = [name for name, o in zip(names, outcomes, strict=True) if o == "launched"]
        assert sorted(stream.name for stream in transaction.streams()) == launched
        for stream in transaction.streams():  # whole, and gone on
            assert stream.released == 2
            assert len(list(transaction.releases(stream))) == 2 * 2 * 2
            paid = [e.paid for e in ledger.entries if e.on.startswith(f"{stream.name}/")]
            assert sum(loss.epsilon for loss in paid if isinstance(loss, Pure)) == Fraction(1, 3)
        store.check()


def test_one_stream_is_launched_once(tmp_path: Path) -> None:
    outcomes = Counter(race(plans(tmp_path, ["s"] * RACERS, "1\ncap = 100")))
    assert outcomes["launched"] == 1
    assert outcomes["launched"] + outcomes["went on"] + outcomes["store"] == RACERS
    world = World(tmp_path, TWO, epsilon="1\ncap = 100")
    first = world.releases()
    assert len(first) == 2 * 2 * 2
    assert world.earnest(2).new == 0
    assert world.releases() == first
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        assert ledger_of(transaction).spent == Pure(1)


class TestRenewals:
    def other(self, folder: Path) -> World:
        world = World(folder, TWO)
        world.text = world.text.replace('name = "s"', 'name = "other"')
        return world

    def test_a_renewal_allows_more_and_forgets_nothing(self, tmp_path: Path) -> None:
        World(tmp_path, TWO).write([row(1)]).earnest(2)
        other = self.other(tmp_path)
        with pytest.raises(BudgetExceeded, match="0 left of 1"):
            other.earnest(2)
        with open_store(str(tmp_path / "s.db")) as store, store.writing() as transaction:
            ledger_of(transaction).renew(Pure(1), why="a second year")
        assert other.earnest(2).launched
        with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
            ledger = ledger_of(transaction)
            assert (ledger.spent, ledger.cap, ledger.left) == (Pure(2), Pure(2), Pure(0))
            assert [renewal.why for renewal in ledger.renewals] == ["a second year"]

    def test_a_refused_launch_leaves_nothing(self, tmp_path: Path) -> None:
        World(tmp_path, TWO).write([row(1)]).earnest(2)
        with open_store(str(tmp_path / "s.db")) as store:
            with store.reading() as transaction:
                before = ledger_of(transaction).entries
            with pytest.raises(BudgetExceeded):
                Engine(self.other(tmp_path).plan, store).run()
            with store.reading() as transaction:
                assert ledger_of(transaction).entries == before
                assert [stream.name for stream in transaction.streams()] == ["s"]

    def test_a_launch_that_fails_half_way_costs_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second series cannot be written: entries and states were, in the transaction."""
        add, calls = Transaction.add_series, []

        def failing(*given: Any) -> int:
            calls.append(given)
            if len(calls) == 2:
                raise RuntimeError("half way")
            return add(*given)

        monkeypatch.setattr(Transaction, "add_series", failing)
        world = World(tmp_path, TWO).write([row(1)])
        with pytest.raises(RuntimeError, match="half way"):
            world.earnest(2)
        monkeypatch.undo()
        with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
            assert transaction.populations() == ()
            assert transaction.streams() == ()
        assert world.earnest(2).launched
