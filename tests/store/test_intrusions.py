"""Intrusions that were announced are counted, and kept with their reason."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.store.places import Place
from tests.store.stores import launch, new_store

AT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def test_each_is_kept_under_its_number(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.intrusions(stream) == ()
            assert transaction.add_intrusion(stream, at=AT, why="a raid") == 1
            assert transaction.add_intrusion(stream, at=AT, why="a thief") == 2
        with store.reading() as transaction:
            intrusions = transaction.intrusions(stream)
    assert [(one.number, one.at, one.why) for one in intrusions] == [
        (1, AT, "a raid"),
        (2, AT, "a thief"),
    ]
