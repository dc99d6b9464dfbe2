"""Streams: launched once, never backwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import uuid4

import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.rules import CURRENT, FIRST
from tests.store.places import Place
from tests.store.stores import IDENTITY, MARCH, SALT, launch, new_store, open_visitors


def test_a_stream_is_kept_as_it_was_launched(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with store.reading() as transaction:
            assert transaction.stream("flu") == stream
            assert transaction.streams() == (stream,)
            assert transaction.stream("cold") is None
        assert (stream.number, stream.population, stream.plan) == (1, "visitors", "{}")
        assert (stream.identity, stream.salt, stream.launched) == (IDENTITY, SALT, MARCH)
        assert (stream.released, stream.scheduled) == (0, 0)


def test_a_stream_keeps_its_rules_and_newer_ones_are_refused(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            assert launch(transaction).rules == CURRENT
            older = transaction.add_stream(
                "cold",
                population="visitors",
                plan="{}",
                identity=uuid4(),
                salt=SALT,
                launched=MARCH,
                rules=FIRST,
            )
        with store.reading() as transaction:
            assert transaction.stream("cold") == older
            assert older.rules == FIRST
        for unknown in (CURRENT + 1, 0):
            with store.writing() as transaction:
                transaction._session.write("UPDATE stream SET rules = ?", (unknown,))
            refused = pytest.raises(StoreRefused, match=f"rules of version {unknown}")
            with refused, store.reading() as transaction:
                transaction.stream("flu")


def test_a_stream_is_launched_once_and_for_an_open_population(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            launch(transaction)
        for name, population, identity, words in (
            ("flu", "visitors", uuid4(), "launched before"),
            ("cold", "visitors", IDENTITY, "launched before"),
            ("cold", "nobody", uuid4(), "'nobody' was not opened"),
        ):
            with pytest.raises(StoreRefused, match=words), store.writing() as transaction:
                transaction.add_stream(
                    name,
                    population=population,
                    plan="{}",
                    identity=identity,
                    salt=SALT,
                    launched=MARCH,
                )


@pytest.mark.parametrize(
    ("name", "salt", "launched"),
    [
        ("", SALT, MARCH),
        ("flu", SALT[1:], MARCH),
        ("flu", SALT, datetime(2026, 3, 1)),
    ],
)
def test_what_a_stream_needs(place: Place, name: str, salt: bytes, launched: datetime) -> None:
    with new_store(place) as store, store.writing() as transaction:
        open_visitors(transaction)
        with pytest.raises(BadInput):
            transaction.add_stream(
                name,
                population="visitors",
                plan="{}",
                identity=IDENTITY,
                salt=salt,
                launched=launched,
            )


def test_a_stream_goes_on_and_never_back(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        ahead = transaction.advance(stream, scheduled=5)
        assert (ahead.released, ahead.scheduled) == (0, 5)
        ahead = transaction.advance(stream, released=3)
        assert (ahead.released, ahead.scheduled) == (3, 5)
        ahead = transaction.advance(stream, released=7)
        assert (ahead.released, ahead.scheduled) == (7, 7)
        ahead = transaction.advance(stream, released=7, scheduled=7)
        assert transaction.stream("flu") == ahead
        for wrong in (
            {"released": 6},
            {"scheduled": 6},
            {"released": 9, "scheduled": 8},
            {"released": -1},
        ):
            with pytest.raises(StoreRefused, match="cannot go back"):
                transaction.advance(stream, **wrong)
        assert transaction.stream("flu") == ahead
        with pytest.raises(StoreRefused, match="not in this store"):
            transaction.advance(replace(stream, number=9), released=1)


def test_what_was_scheduled_stays_scheduled(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.advance(stream, released=3, scheduled=9)
        for scheduled in (8, 3):  # neither before what is released
            with pytest.raises(StoreRefused, match="step 9 is scheduled"):
                transaction.advance(stream, scheduled=scheduled)
        with pytest.raises(StoreRefused, match="step 9 is scheduled"):
            transaction.advance(stream, released=4, scheduled=8)
        again = transaction.stream("flu")
        assert again is not None
        assert (again.released, again.scheduled) == (3, 9)


def test_positions_and_sinks(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.position(stream) is None
            assert transaction.sent(stream, "a.csv") == 0
            for turn in (1, 2):
                transaction.set_position(stream, f"row {turn}")
                transaction.set_sent(stream, "a.csv", 10 * turn)
            transaction.set_sent(stream, "b.csv", 3)
        with store.reading() as transaction:
            assert transaction.position(stream) == "row 2"
            assert transaction.sent(stream, "a.csv") == 20
            assert transaction.sent(stream, "b.csv") == 3


def test_the_salt_is_not_printed(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        open_visitors(transaction)
        canary = b"CANARY-salt-of-exactly-32-bytes!"
        stream = transaction.add_stream(
            "flu",
            population="visitors",
            plan='{"a":"plan"}',
            identity=IDENTITY,
            salt=canary,
            launched=MARCH,
        )
        for shown in (repr(stream), str(stream), repr([stream]), repr(transaction.streams())):
            assert "CANARY" not in shown
            assert "flu" in shown


def test_a_store_knows_the_sinks_that_it_has_had(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        assert transaction.all_sent(stream) == {}
        transaction.set_sent(stream, "csv:b.csv", 3)
        transaction.set_sent(stream, "csv:a.csv", 2)
        transaction.set_sent(stream, "csv:b.csv", 4)
        assert transaction.all_sent(stream) == {"csv:a.csv": 2, "csv:b.csv": 4}
