"""Batches: stored once in a step, in order, forgotten when they are counted and their step is
released."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import batches
from ameles.store.batches import NewBatch, StoredBatch
from tests.store.places import Place
from tests.store.stores import launch, new_store

FIRST, SECOND, THIRD = (bytes([number]) * 16 for number in (1, 2, 3))


def batch(digest: bytes, step: int = 1) -> NewBatch:
    body = bytes(byte ^ 255 for byte in digest)
    return NewBatch(digest, body, step, "csv", b"of " + digest[:1])


def test_the_digests_of_a_step_are_known_until_its_release(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            assert transaction.counted_batches(stream, 1, []) == frozenset()
            transaction.add_batches(stream, [batch(SECOND), batch(FIRST)])
            transaction.add_batches(stream, [batch(SECOND, 2), batch(THIRD, 2)])
            transaction.add_batches(stream, [])
        with store.writing() as transaction:
            asked = [THIRD, FIRST]
            assert transaction.counted_batches(stream, 1, asked) == {FIRST}
            assert transaction.counted_batches(stream, 2, asked) == {THIRD}
            transaction.seen(stream, 0, [FIRST])  # another table that is looked up
            assert transaction.counted_batches(stream, 2, [SECOND]) == {SECOND}
            transaction.forget_batches(replace(stream, released=1), counted=0, most=9)
            assert transaction.counted_batches(stream, 1, [FIRST, SECOND]) == frozenset()
            assert transaction.counted_batches(stream, 2, [SECOND]) == {SECOND}


def test_batches_wait_in_their_order_until_they_are_counted(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_batches(stream, [batch(SECOND), batch(FIRST), batch(THIRD, 3)])
        with store.writing() as transaction:
            assert transaction.waiting_steps(stream, after=0) == (1, 3)
            assert transaction.waiting_steps(stream, after=2) == (3,)
            early = transaction.waiting_batches(stream, after=0, last_step=2, most=9)
            assert early == (StoredBatch(2, 1, "csv", b"of \x02of \x01"),)  # they came together
            assert [
                one.number
                for one in transaction.waiting_batches(stream, after=0, last_step=3, most=9)
            ] == [2, 3]
            transaction.forget_batches(stream, counted=2, most=9)
            assert [
                one.number
                for one in transaction.waiting_batches(stream, after=0, last_step=3, most=9)
            ] == [3]
            transaction.forget_batches(stream, counted=3, most=9)
            # numbers go on when nothing waits
            transaction.add_batches(stream, [batch(FIRST, 4)])
            (last,) = transaction.waiting_batches(stream, after=0, last_step=4, most=9)
            assert last.number == 4


def test_steps_open_and_close_and_never_go_back(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        assert transaction.open_step(stream) == 1
        transaction.add_batches(stream, [batch(FIRST, 3)])
        assert transaction.open_step(stream) == 3
        for earlier in (1, 2):
            transaction.close_intake(stream, earlier)
            assert transaction.open_step(stream) == 3
        transaction.close_intake(stream, 3)
        assert transaction.open_step(stream) == 4
        assert transaction.open_step(replace(stream, released=6)) == 7
        transaction.add_batches(stream, [batch(SECOND, 4)])
        (last,) = transaction.waiting_batches(stream, after=1, last_step=4, most=9)
        assert last.number == 2


def test_a_batch_is_never_stored_twice(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_batches(stream, [batch(FIRST)])
        with pytest.raises(StoreRefused, match="stored before"), store.writing() as transaction:
            transaction.add_batches(stream, [batch(SECOND), batch(FIRST)])
        with store.reading() as transaction:
            assert transaction.counted_batches(stream, 1, [FIRST, SECOND]) == {FIRST}
            assert len(transaction.waiting_batches(stream, after=0, last_step=1, most=9)) == 1


def test_rows_have_one_step_and_one_form_and_are_not_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batches, "JOINED", 8)
    given = [
        NewBatch(bytes([number]) * 16, bytes([number, 99]) * 8, step, form, lines)
        for number, (step, form, lines) in enumerate(
            [
                *((1, "csv", b"abc"), (1, "csv", b"defg"), (1, "csv", b"hi"), (1, "jsonl", b"{}")),
                *((2, "jsonl", b"{}"), (2, "jsonl", b"longer than a row"), (2, "jsonl", b"")),
            ]
        )
    ]
    with new_store(tmp_path) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_batches(stream, given)
        stored = transaction.waiting_batches(stream, after=0, last_step=2, most=9)
    assert [(one.number, one.step, one.form, one.lines) for one in stored] == [
        (2, 1, "csv", b"abcdefg"),
        (3, 1, "csv", b"hi"),
        (4, 1, "jsonl", b"{}"),
        (5, 2, "jsonl", b"{}"),
        (6, 2, "jsonl", b"longer than a row"),
        (7, 2, "jsonl", b""),
    ]


def test_a_few_bytes_are_forgotten_at_a_time(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setattr(batches, "JOINED", 0)
    monkeypatch.setattr(batches, "FORGOTTEN", 5)  # a row has four
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_batches(stream, [batch(one) for one in (FIRST, SECOND, THIRD)])

        def forget(most: int) -> tuple[bool, int]:
            more = transaction.forget_batches(stream, counted=3, most=most)
            return more, len(transaction.waiting_batches(stream, after=0, last_step=1, most=9))

        assert forget(1) == (True, 2)
        assert forget(9) == (False, 0)


def test_many_digests_are_looked_up(place: Place) -> None:
    many = [number.to_bytes(16, "big") for number in range(700)]
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_batches(stream, [batch(one) for one in many[::2]])
        assert transaction.counted_batches(stream, 1, many) == frozenset(many[::2])


def test_the_lines_of_a_batch_are_never_printed() -> None:
    secret = b"a person"
    assert "person" not in repr(NewBatch(FIRST, secret, 1, "csv", secret))
    assert "person" not in repr(StoredBatch(1, 1, "csv", secret))
