"""A store with a population, a launched stream and a paid release, to be filled by tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Loss, Pure
from ameles.ledger import Ledger
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.store import ReleaseState, Store, StreamRecord, Transaction, open_store
from tests.store.places import Place, PostgresPlace

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
SALT = bytes(range(32))
IDENTITY = UUID("6f1cba5e-0f2f-4b2f-9d39-3c0a0f6a2a11")
MINUTE = 60_000_000
RECIPE = SimpleOneCounter(epsilon="1/2", horizon=100)


def new_store(place: Place | Path, *, patience: float = 600.0) -> Store:
    url = str(place / "flu.db") if isinstance(place, Path) else place.url
    if isinstance(place, PostgresPlace):
        place.take_spare()
    return open_store(url, patience=patience)


def open_visitors(transaction: Transaction, cap: Loss | None = None) -> Ledger:
    transaction.open_population(
        "visitors",
        cap=Pure(1) if cap is None else cap,
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        opened=MARCH,
    )
    return visitors(transaction)


def visitors(transaction: Transaction) -> Ledger:
    ledger = transaction.ledger("visitors", clock=lambda: MARCH)
    assert ledger is not None
    return ledger


def launch(transaction: Transaction, *, keys: Sequence[str] = ("north", "south")) -> StreamRecord:
    """The stream 'flu' with the release 'fever', paid for."""
    run = open_visitors(transaction).launch({"fever": RECIPE}, on="flu", why="dashboard")["fever"]
    stream = transaction.add_stream(
        "flu", population="visitors", plan="{}", identity=IDENTITY, salt=SALT, launched=MARCH
    )
    transaction.set_state(stream, "fever", fever(run.snapshot()))
    transaction.add_series(stream, "fever", keys, "SimpleOneCounter", 1)
    return stream


def fever(snapshot: bytes, history: bytes = b"") -> ReleaseState:
    return ReleaseState(
        entry=1,
        mechanism="SimpleOneCounter",
        recipe=RECIPE.to_json(),
        snapshot=snapshot,
        history=history,
    )


def minutes(first: int, last: int) -> list[tuple[int, int, int]]:
    """Steps of a minute each, from 1970."""
    return [(step, (step - 1) * MINUTE, step * MINUTE) for step in range(first, last + 1)]
