"""Secret state: kept, replaced, never printed, never taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.store import StreamRecord, Transaction
from tests.store.places import Place
from tests.store.stores import MARCH, RECIPE, fever, launch, new_store, visitors


def resumed(transaction: Transaction, stream: StreamRecord) -> CounterRun:
    state = transaction.state(stream, "fever")
    assert state is not None
    return visitors(transaction).resume(RECIPE, state.snapshot)


def test_a_state_is_kept_and_replaced(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            run = resumed(transaction, stream)
            run.step(1)
            transaction.set_state(stream, "fever", fever(run.snapshot(), b"earlier outputs"))
        with store.reading() as transaction:
            state = transaction.state(stream, "fever")
            assert state == fever(run.snapshot(), b"earlier outputs")
            assert transaction.state(stream, "cough") is None


def test_a_run_never_goes_back(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        run = resumed(transaction, stream)
        run.step(1)
        first = run.snapshot()
        run.step(1)
        transaction.set_state(stream, "fever", fever(run.snapshot()))
        with pytest.raises(StoreRefused, match="cannot go back to an earlier step"):
            transaction.set_state(stream, "fever", fever(first))
        transaction.set_state(stream, "fever", fever(run.snapshot()))


def test_state_that_is_kept_elsewhere_leaves_an_empty_snapshot(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.set_state(stream, "fever", fever(b""))
        transaction.set_state(stream, "fever", fever(b"", b"history"))
        assert visitors(transaction).left is not None


def test_a_state_names_the_entry_that_paid(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        unpaid = replace(fever(b""), entry=2)
        with pytest.raises(StoreRefused, match="has no entry 2"):
            transaction.set_state(stream, "cough", unpaid)
        with pytest.raises(StoreRefused, match="has no entry 2"):
            transaction.add_series(stream, "cough", [""], "SimpleOneCounter", 2)
        assert transaction.state(stream, "cough") is None


def test_what_another_population_paid_pays_for_nothing_here(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)  # visitors have one entry
        transaction.open_population(
            "staff", cap=Pure(9), unit=EVENT, neighbours=Neighbours.ADD_REMOVE, opened=MARCH
        )
        staff = transaction.ledger("staff")
        assert staff is not None
        for name in ("first", "second"):
            staff.start(RECIPE, on=name, why="dashboard")
        with pytest.raises(StoreRefused, match="population 'visitors' has no entry 2"):
            transaction.set_state(stream, "cough", replace(fever(b""), entry=2))
        with pytest.raises(StoreRefused, match="population 'visitors' has no entry 2"):
            transaction.add_series(stream, "cough", [""], "SimpleOneCounter", 2)


def test_pending_secrets_come_and_go(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.pending(stream) is None
            transaction.set_pending(stream, b"")
            assert transaction.pending(stream) == b""
            transaction.set_pending(stream, bytes(range(256)))
        with store.writing() as transaction:
            assert transaction.pending(stream) == bytes(range(256))
            transaction.set_pending(stream, None)
            assert transaction.pending(stream) is None


def test_snapshots_are_not_printed() -> None:
    state = fever(b"CANARY of a snapshot", b"CANARY of a history")
    for shown in (repr(state), str(state), f"{state}", repr({"fever": state})):
        assert "CANARY" not in shown
        assert "SimpleOneCounter" in shown
