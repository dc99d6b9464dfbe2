"""Retired streams: once, with a reason, for ever."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import StoreRefused
from tests.store.places import Place
from tests.store.stores import MARCH, launch, new_store


def test_a_stream_is_retired_once_and_for_ever(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.retirement(stream) is None
            transaction.retire(stream, at=MARCH, why="the season is over")
        with pytest.raises(StoreRefused, match="retired already"), store.writing() as transaction:
            transaction.retire(stream, at=MARCH, why="again")
        for change in ("UPDATE retirement SET why = 'no'", "DELETE FROM retirement"):
            with pytest.raises(StoreRefused, match="break a rule"), store.writing() as transaction:
                transaction._session.write(change)
        with store.reading() as transaction:
            retirement = transaction.retirement(stream)
        assert retirement is not None
        assert (retirement.at, retirement.why) == (MARCH, "the season is over")
