"""Epochs: counted for ever, begun once."""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

import pytest

from ameles.core.exceptions import AmelesError
from tests.store.places import Place
from tests.store.stores import MARCH, SALT, launch, new_store


def test_epochs_are_counted_and_begin(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.epochs(stream) == ()
            assert transaction.add_epoch(stream, at=MARCH, why="a theft", base=b"\0\xff") == 2
        with store.writing() as transaction:
            stream = transaction.advance(stream, released=5)
            assert transaction.add_epoch(stream, at=MARCH, why="a fire", base=b"") == 3
            transaction.begin_epoch(stream, 3)
        with store.reading() as transaction:
            first, second = transaction.epochs(stream)
    assert (first.number, first.released, first.why, first.base) == (2, 0, "a theft", b"\0\xff")
    assert (second.number, second.released, second.at, second.base) == (3, 5, MARCH, b"")
    assert (first.begun, second.begun) == (False, True)
    assert "base" not in repr(first)


def test_a_stream_begins_its_own_epochs_only(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        other = transaction.add_stream(
            "cough", population="visitors", plan="{}", identity=uuid4(), salt=SALT, launched=MARCH
        )
        for one in (stream, other):
            assert transaction.add_epoch(one, at=MARCH, why="a theft", base=b"") == 2
        transaction.begin_epoch(stream, 2)
        assert [epoch.begun for epoch in transaction.epochs(stream)] == [True]
        assert [epoch.begun for epoch in transaction.epochs(other)] == [False]


def test_a_restart_that_is_not_committed_is_not_counted(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with suppress(KeyboardInterrupt), store.writing() as transaction:
            transaction.add_epoch(stream, at=MARCH, why="a theft", base=b"")
            raise KeyboardInterrupt
        with store.reading() as transaction:
            assert transaction.epochs(stream) == ()


def test_epochs_are_permanent(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_epoch(stream, at=MARCH, why="a theft", base=b"")
        with pytest.raises(AmelesError), store.writing() as transaction:
            transaction._session.write("DELETE FROM epoch", ())
        with store.reading() as transaction:
            assert len(transaction.epochs(stream)) == 1
