"""Batches: counted once in a step, forgotten with its release, apart from other streams."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import StoreRefused
from tests.store.places import Place
from tests.store.stores import launch, new_store

FIRST, SECOND, THIRD = (bytes([number]) * 16 for number in (1, 2, 3))


def test_the_batches_of_a_step_are_known_until_its_release(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.counted_batches(stream, 1, []) == frozenset()
            transaction.add_batches(stream, 1, [SECOND, FIRST])
            transaction.add_batches(stream, 2, [SECOND, THIRD])
            transaction.add_batches(stream, 2, [])
        with store.writing() as transaction:
            asked = [THIRD, FIRST]
            assert transaction.counted_batches(stream, 1, asked) == {FIRST}
            assert transaction.counted_batches(stream, 2, asked) == {THIRD}
            transaction.seen(stream, 0, [FIRST])  # another table that is looked up
            assert transaction.counted_batches(stream, 2, [SECOND]) == {SECOND}
            transaction.forget_batches(stream, 1)
            assert transaction.counted_batches(stream, 1, [FIRST, SECOND]) == frozenset()
            assert transaction.counted_batches(stream, 2, [SECOND]) == {SECOND}


def test_a_batch_is_never_recorded_twice(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_batches(stream, 1, [FIRST])
        with pytest.raises(StoreRefused, match="counted before"), store.writing() as transaction:
            transaction.add_batches(stream, 1, [SECOND, FIRST])
        with store.reading() as transaction:
            assert transaction.counted_batches(stream, 1, [FIRST, SECOND]) == {FIRST}
