"""Texts about streams: the last one of each topic."""

from __future__ import annotations

from tests.store.places import Place
from tests.store.stores import launch, new_store


def test_the_last_text_of_a_topic_stands(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.description(stream, "plan") is None
            for text in ('"old"', '"new"'):
                transaction.set_description(stream, "plan", text)
            transaction.set_description(stream, "forecast", "[]")
        with store.reading() as transaction:
            assert transaction.description(stream, "plan") == '"new"'
            assert transaction.descriptions(stream) == {"forecast": "[]", "plan": '"new"'}
