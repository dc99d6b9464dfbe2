"""Ledgers in a store: the rules of the ledger, kept across openings and processes."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT, USER, Neighbours, user_window
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.noise import System, Zero
from ameles.store import Store, StreamRecord
from tests.ledger.populations import costing
from tests.store.places import Place
from tests.store.stores import MARCH, RECIPE, fever, launch, new_store, open_visitors, visitors
from tests.warm_processes import start


def test_a_ledger_is_the_same_after_it_was_kept(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            ledger = open_visitors(transaction)
            ledger.start(costing("1/3"), on="a table", why="a question")
            ledger.launch({"a": costing("0.1"), "b": costing("0.2")}, on="flu", why="dashboard")
            ledger.renew(Pure("1/7"), why="a new consent form")
        with store.reading() as transaction:
            again = visitors(transaction)
        assert again.entries == ledger.entries
        assert again.renewals == ledger.renewals
        assert (again.cap, again.spent) == (Pure("8/7"), Pure("19/30"))
        assert (again.unit, again.neighbours) == (EVENT, Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("n", [1, 7, 49, 365])
def test_n_launches_of_one_nth_fit_and_not_one_more(place: Place, n: int) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
        per_transaction = -(-n // 10)
        for first in range(0, n, per_transaction):
            with store.writing() as transaction:
                ledger = visitors(transaction)
                for _ in range(first, min(first + per_transaction, n)):
                    ledger.start(costing(Fraction(1, n)), on="x", why="y")
        with store.writing() as transaction:
            ledger = visitors(transaction)
            assert ledger.left == Pure(0)
            assert [entry.number for entry in ledger.entries] == list(range(1, n + 1))
            with pytest.raises(BudgetExceeded):
                ledger.start(costing("1e-9"), on="x", why="y")


def spend(store: Store, amount: str) -> None:
    with store.writing() as transaction:
        visitors(transaction).start(costing(amount), on="x", why="y")
        raise ZeroDivisionError


def test_what_was_not_committed_was_not_spent(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                spend(store, "1")
        with store.reading() as transaction:
            assert visitors(transaction).left == Pure(1)


def test_a_reading_transaction_sells_nothing(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
        with store.reading() as transaction:
            ledger = visitors(transaction)
            with pytest.raises(StoreRefused, match="only reads"):
                ledger.start(costing("1/2"), on="x", why="y")
            with pytest.raises(StoreRefused, match="only reads"):
                ledger.renew(Pure(1), why="y")
            assert (ledger.left, ledger.entries) == (Pure(1), ())


def overspend(store: Store) -> None:
    with store.writing() as transaction:
        first, second = visitors(transaction), visitors(transaction)
        first.start(costing("0.6"), on="x", why="y")
        second.start(costing("0.6"), on="x", why="y")


def test_two_ledgers_in_one_transaction_cannot_overspend(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
        with pytest.raises(StoreRefused, match="spent from elsewhere in this transaction"):
            overspend(store)
        with store.writing() as transaction:
            assert visitors(transaction).left == Pure(1)
            # one after the other they are fine
            visitors(transaction).start(costing("0.6"), on="x", why="y")
            visitors(transaction).start(costing("0.4"), on="x", why="y")


RACE = """
import sys
from ameles.core.exceptions import BudgetExceeded
from ameles.store import open_store
from tests.ledger.populations import costing
won = 0
with open_store(sys.argv[1], patience=600) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(8):
        try:
            with store.writing() as transaction:
                transaction.ledger("visitors").start(costing("1/20"), on="x", why="y")
            won += 1
        except BudgetExceeded:
            pass
print(won)
"""


def test_eight_processes_racing_for_the_last_bit_never_overspend(place: Place) -> None:
    # 64 tries for 20 places
    with new_store(place) as store, store.writing() as transaction:
        open_visitors(transaction)
    root = Path(__file__).parents[2]
    racing = [
        start("-c", RACE, place.url, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        for _ in range(8)
    ]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [int(process.communicate()[0]) for process in racing]
    assert [process.returncode for process in racing] == [0] * 8
    assert sum(won) == 20
    with new_store(place) as store, store.reading() as transaction:
        ledger = visitors(transaction)
        assert ledger.spent == Pure(1)
        assert [entry.number for entry in ledger.entries] == list(range(1, 21))
        assert len({entry.run for entry in ledger.entries}) == 20


def test_checking_before_the_write_lock_would_overspend(place: Place) -> None:
    # the race is real: two that read first and write later both find the budget free, and
    # without the unique numbers both would spend it
    with new_store(place) as one, new_store(place) as other:
        with one.writing() as transaction:
            open_visitors(transaction)
        with one.reading() as first, other.reading() as second:
            quotes = [visitors(t).quote(Pure(1), on="x") for t in (first, second)]
        assert [quote[0].total for quote in quotes] == [Pure(1), Pure(1)]


@pytest.mark.parametrize("cap", [Pure("1/3"), Approx(1, "1e-6"), Concentrated("0.125")])
def test_every_currency_is_kept_exactly(place: Place, cap: Loss) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction, cap)
        with store.reading() as transaction:
            (record,) = transaction.populations()
            assert record.cap == visitors(transaction).cap == cap
            assert transaction.population("visitors") == record
            assert transaction.population("others") is None
            assert transaction.ledger("others") is None


def test_a_population_is_opened_once(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
        with (
            pytest.raises(StoreRefused, match="'visitors' was opened before"),
            store.writing() as transaction,
        ):
            open_visitors(transaction, Pure(100))
        with store.reading() as transaction:
            assert visitors(transaction).cap == Pure(1)


def test_terms_are_checked_before_anything_is_written(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        for unit, neighbours, window in (
            (USER, Neighbours.ADD_REMOVE, None),
            (USER, Neighbours.USER_PRESENCE, "30d"),
            (user_window(30), Neighbours.USER_PRESENCE, None),
        ):
            with pytest.raises(BadInput):
                transaction.open_population(
                    "visitors", cap=Pure(1), unit=unit, neighbours=neighbours, window=window
                )
        with pytest.raises(BadInput):
            transaction.open_population(
                "", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE
            )
        assert transaction.populations() == ()


def test_a_window_is_a_length_of_time_that_streams_count_in_their_own_steps(
    place: Place,
) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            transaction.open_population(
                "people",
                cap=Pure(1),
                unit=user_window(30),
                neighbours=Neighbours.USER_PRESENCE,
                window="30d",
                contributions=7,
                opened=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
            )
        with store.writing() as transaction:
            (record,) = transaction.populations()
            assert (record.window, record.contributions) == ("30d", 7)
            assert record.opened == datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
            hourly = SimpleOneCounter(epsilon="1/2", horizon=9, unit=user_window(720))
            daily = SimpleOneCounter(epsilon="1/2", horizon=9, unit=user_window(30))
            plain = transaction.ledger("people")
            assert plain is not None
            with pytest.raises(BadInput, match="says nothing about a cap"):
                plain.start(hourly, on="x", why="y")
            plain.start(daily, on="x", why="y")
            fine = transaction.ledger("people", unit=user_window(720))
            assert fine is not None
            fine.start(hourly, on="x", why="y")
            with pytest.raises(BadInput, match="a cap is for one unit"):
                transaction.ledger("people", unit=USER)
        with store.reading() as transaction:
            ledger = transaction.ledger("people")
            assert ledger is not None
            assert ledger.left == Pure(0)


def test_other_noise_marks_the_store_for_ever(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction)
            assert transaction.ledger("visitors", noise=System()) is not None
        assert store.genuine
        with store.reading() as transaction, pytest.raises(StoreRefused, match="only reads"):
            transaction.ledger("visitors", noise=Zero())
        with store.writing() as transaction:
            marked = transaction.ledger("visitors", noise=Zero())
            assert marked is not None
            marked.start(RECIPE, on="x", why="y")
            assert not transaction.genuine
            assert store.genuine, "not before it is committed"
        assert not store.genuine
        with store.writing() as transaction:
            open_again = transaction.ledger("visitors")
            assert open_again is not None
            transaction.mark()
    with new_store(place) as store:
        assert not store.genuine
        with store.reading() as transaction:
            assert transaction.ledger("visitors", noise=Zero()) is not None


def mark_and_fail(store: Store) -> None:
    with store.writing() as transaction:
        transaction.mark()
        raise ZeroDivisionError


def test_a_mark_that_was_rolled_back_leaves_no_run_either(place: Place) -> None:
    with new_store(place) as store:
        with pytest.raises(ZeroDivisionError):
            mark_and_fail(store)
        assert store.genuine


def test_only_the_newest_stored_snapshot_is_resumed(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            state = transaction.state(stream, "fever")
            assert state is not None
            run = visitors(transaction).resume(RECIPE, state.snapshot)
            run.step(1)
            transaction.set_state(stream, "fever", fever(run.snapshot()))
        for _ in range(2):  # a crash before the next commit changes nothing
            with store.writing() as transaction:
                ledger = visitors(transaction)
                with pytest.raises(StoreRefused, match="has gone on to step 1"):
                    ledger.resume(RECIPE, state.snapshot)
                newest = transaction.state(stream, "fever")
                assert newest is not None
                assert ledger.resume(RECIPE, newest.snapshot).t == 1


def test_a_run_that_no_stream_stores_is_not_resumed(place: Place) -> None:
    # Nothing says what it has released: in every transaction it would release it again.
    with new_store(place) as store:
        with store.writing() as transaction:
            ledger = open_visitors(transaction)
            run = ledger.start(RECIPE, on="flu", why="dashboard")
            snapshots = [run.snapshot()]
            run.step(1)
            snapshots.append(run.snapshot())
        for snapshot in snapshots:
            with store.writing() as transaction:
                with pytest.raises(StoreRefused, match="not the state of a stream") as caught:
                    visitors(transaction).resume(RECIPE, snapshot)
                assert "only its stream may resume a run" in str(caught.value)
        run.step(1)


def test_a_later_or_another_snapshot_of_a_stored_run_is_not_resumed(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            launch(transaction)
        with store.writing() as transaction:
            stream = transaction.stream("flu")
            assert stream is not None
            state = transaction.state(stream, "fever")
            assert state is not None
            run = visitors(transaction).resume(RECIPE, state.snapshot)
            run.step(1)
            later = run.snapshot()
        for given in (later, RECIPE.start(System()).snapshot()):
            with store.writing() as transaction, pytest.raises(StoreRefused):
                visitors(transaction).resume(RECIPE, given)
        # what was drawn and not stored was released to nobody
        with store.writing() as transaction:
            assert visitors(transaction).resume(RECIPE, state.snapshot).t == 0


def test_the_runs_of_a_vault_are_resumed_for_their_stream_alone(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            state = transaction.state(stream, "fever")
            assert state is not None
            stranger = visitors(transaction).start(
                SimpleOneCounter(epsilon="1/4", horizon=100), on="flux/cough", why="y"
            )
            other = transaction.add_stream(
                "flux",
                population="visitors",
                plan="{}",
                identity=uuid4(),
                salt=bytes(32),
                launched=MARCH,
            )

        def resume(sealed: StreamRecord | None, snapshot: bytes, recipe: Any = RECIPE) -> int:
            with store.writing() as transaction:
                ledger = transaction.ledger("visitors", sealed=sealed)
                assert ledger is not None
                return int(ledger.resume(recipe, snapshot).t)

        run = RECIPE.resume(state.snapshot, System())
        run.step(1)
        first = run.snapshot()
        with pytest.raises(StoreRefused, match="not the state"):
            resume(stream, first)  # its state is in the store
        with store.writing() as transaction:
            transaction.set_state(stream, "fever", fever(b""))
        assert resume(stream, first) == 1
        for sealed in (None, other):
            with pytest.raises(StoreRefused, match="not the state"):
                resume(sealed, first)
        with pytest.raises(StoreRefused, match="not the state"):
            resume(stream, stranger.snapshot(), SimpleOneCounter(epsilon="1/4", horizon=100))
        with store.writing() as transaction:
            transaction.advance(stream, released=1, scheduled=1)
        assert resume(stream, first) == 1
        with pytest.raises(StoreRefused, match="not the state"):
            resume(stream, state.snapshot)  # step 1 was released
