"""That somebody looked is kept from the first look on."""

from __future__ import annotations

from datetime import timedelta

from tests.store.places import Place
from tests.store.stores import MARCH, new_store


def test_the_first_look_stays(place: Place) -> None:
    with new_store(place) as store:
        with store.reading() as transaction:
            assert transaction.checked("a") is None
        for later in (0, 1):
            with store.writing() as transaction:
                transaction.set_checked(["a", "b"][: later + 1], MARCH + timedelta(days=later))
        with store.reading() as transaction:
            assert transaction.checked("a") == MARCH
            assert transaction.checked("b") == MARCH + timedelta(days=1)
            assert transaction.checked("c") is None
