"""Gaps of a source: recorded in order, for ever."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import StoreRefused
from tests.store.places import Place
from tests.store.stores import MARCH, launch, new_store


def test_gaps_are_recorded_in_order_and_for_ever(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.gaps(stream) == ()
            transaction.add_gap(stream, at=MARCH, place="partition 3", why="kept for a day only")
            transaction.add_gap(stream, at=MARCH, place="partition 1", why="the same")
        for change in ("UPDATE gap SET why = 'no'", "DELETE FROM gap"):
            with pytest.raises(StoreRefused, match="break a rule"), store.writing() as transaction:
                transaction._session.write(change)
        with store.reading() as transaction:
            gaps = transaction.gaps(stream)
        assert [(gap.at, gap.place, gap.why) for gap in gaps] == [
            (MARCH, "partition 3", "kept for a day only"),
            (MARCH, "partition 1", "the same"),
        ]
