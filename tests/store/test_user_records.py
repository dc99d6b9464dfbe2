"""What users have added to discovered keys: by release and window, forgotten with its window."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import BadInput
from tests.store.places import Place
from tests.store.stores import MARCH, launch, new_store
from tests.store.test_seen import users


def test_records_are_found_by_place_and_replaced(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.set_user_records(stream, 1, 0, users(7, 5), [b"seven", b""])
            transaction.set_user_records(stream, 2, 0, users(5), [b"another release"])
            transaction.set_user_records(stream, 1, 1, users(5), [b"another window"])
            transaction.set_user_records(stream, 1, 0, users(5, 9), [b"\x00five\xff", b"nine"])
            transaction.set_user_records(stream, 1, 0, users(), [])
            with pytest.raises(BadInput, match="as many records"):
                transaction.set_user_records(stream, 1, 0, users(1, 2), [b"one"])
        with store.reading() as transaction:
            known = transaction.user_records(stream, 1, 0, users(9, 1, 5, 7))
            assert known == {0: b"nine", 2: b"\x00five\xff", 3: b"seven"}
            assert transaction.user_records(stream, 2, 0, users(5, 7)) == {0: b"another release"}
            assert transaction.user_records(stream, 1, 0, users()) == {}


def test_windows_are_forgotten_and_retired_streams_have_none(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        for window in (0, 1, 2):
            transaction.set_user_records(stream, 1, window, users(1), [b"records"])
        transaction.forget_user_records(stream, 2, release=2)  # which has none
        transaction.forget_user_records(stream, 1)
        left = [len(transaction.user_records(stream, 1, w, users(1))) for w in (0, 1, 2)]
        assert left == [0, 1, 1]
        transaction.retire(stream, at=MARCH, why="over")
        transaction.erase_secrets(stream)
        assert not transaction.user_records(stream, 1, 2, users(1))
        transaction.set_user_records(stream, 1, 2, users(1), [b"records"])
        transaction.forget_all_user_records(stream)
        assert not transaction.user_records(stream, 1, 2, users(1))
