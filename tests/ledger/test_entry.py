"""Entries: what the ledger says of a debit."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest

from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.ledger import Ledger
from tests.ledger.populations import costing


def test_an_entry_is_frozen_and_reads_as_a_sentence() -> None:
    ledger = Ledger(
        "visitors",
        cap=Pure(1),
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        clock=lambda: datetime(2026, 3, 1, tzinfo=UTC),
    )
    ledger.start(costing("0.8"), on="flu", why="weekly dashboard")
    (entry,) = ledger.entries
    assert str(entry) == "'flu' was started with epsilon 0.8 on 2026-03-01 (weekly dashboard)"
    with pytest.raises(FrozenInstanceError):
        entry.__setattr__("why", "something else")
