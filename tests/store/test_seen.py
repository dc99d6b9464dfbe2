"""Users that were seen: exact bytes, and a cost that does not grow with the table."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.store import Seen, Transaction
from ameles.store.columns import Columns
from ameles.store.seen import Users, sorted_hashes
from ameles.store.sqlite.session import lookup_sql
from tests.store.places import Place
from tests.store.stores import launch, new_store


def users(*numbers: int) -> NDArray[np.bytes_]:
    """Hashes with zero bytes at the end, which numpy's S16 does not show."""
    flat = b"".join(number.to_bytes(8, "big") + bytes(8) for number in numbers)
    return np.frombuffer(flat, dtype="S16")


def test_what_is_known_is_found_by_place(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.set_seen(
                stream, 0, users(7, 5, 9), np.array([1, 2, 3]), np.array([0, 2**40, -(2**63)])
            )
        for transaction_of in (store.reading, store.writing):
            with transaction_of() as transaction:
                seen = transaction.seen(stream, 0, users(1, 9, 5, 4))
                assert sorted(table(seen)) == [(1, 3, -(2**63)), (2, 2, 2**40)]
                assert table(transaction.seen(stream, 1, users(5))) == []
                assert table(transaction.seen(stream, 0, users())) == []


def table(seen: Seen) -> list[tuple[int, int, int]]:
    return list(zip(seen.place.tolist(), seen.steps.tolist(), seen.marks.tolist(), strict=True))


def test_a_second_time_replaces_the_first(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        ones = np.ones(2, dtype=np.int64)
        transaction.set_seen(stream, 0, users(1, 2), ones, ones)
        transaction.set_seen(stream, 0, users(2, 3), 5 * ones, 6 * ones)
        seen = transaction.seen(stream, 0, users(1, 2, 3))
        assert sorted(table(seen)) == [(0, 1, 1), (1, 5, 6), (2, 5, 6)]


def test_windows_and_streams_are_apart_and_old_windows_forgotten(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        one = np.ones(1, dtype=np.int64)
        for window in (0, 1, 2):
            transaction.set_seen(stream, window, users(1), one * window, one)
        transaction.forget_seen(stream, 2)
        assert [len(transaction.seen(stream, w, users(1)).place) for w in (0, 1, 2)] == [0, 0, 1]


@pytest.mark.parametrize("kind", ["S16", "V16", "bytes", "rows"])
def test_all_sixteen_bytes_count_however_they_are_given(kind: str) -> None:
    flat = b"fifteen bytes..\x00" + b"\x00" * 16 + b"\x00fifteen bytes.."
    whole = [flat[i : i + 16] for i in (0, 16, 32)]
    given: dict[str, Users] = {
        "S16": np.frombuffer(flat, dtype="S16"),
        "V16": np.frombuffer(flat, dtype="V16"),
        "rows": np.frombuffer(flat, dtype=np.uint8).reshape(3, 16),
        "bytes": whole,
    }
    order, hashes = sorted_hashes(given[kind])
    assert hashes == sorted(whole)
    assert [whole[place] for place in order.tolist()] == hashes
    # what it is about: numpy's own list has lost bytes
    assert np.frombuffer(flat, dtype="S16").tolist() != whole


@pytest.mark.parametrize(
    "wrong", [np.array([b"x"], dtype="S15"), [b"short"], np.zeros((2, 8), dtype=np.uint8)]
)
def test_other_sizes_are_refused_and_not_shown(wrong: NDArray[np.bytes_]) -> None:
    with pytest.raises(BadInput, match="16 bytes") as caught:
        sorted_hashes(wrong)
    assert "short" not in str(caught.value)


def test_as_many_numbers_as_users(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        one = np.ones(1, dtype=np.int64)
        with pytest.raises(BadInput, match="as many"):
            transaction.set_seen(stream, 0, users(1, 2), one, one)


def test_a_question_looks_up_each_user_and_scans_nothing(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.reading() as transaction:
        assert plan_of(transaction) == [
            "SCAN asked",
            "SEARCH seen USING PRIMARY KEY (stream=? AND window=? AND user=?)",
        ]


def plan_of(transaction: Transaction) -> list[str]:
    session = transaction._session
    keys: Columns = {"stream": 1, "window": 0, "user": [bytes(16)]}
    assert session.lookup("seen", keys, ("steps",)) == []
    question = lookup_sql("seen", tuple(keys), ("steps",))
    return [row[3] for row in session.rows(f"EXPLAIN QUERY PLAN {question}")]


def test_what_was_asked_is_not_in_any_file(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with store.writing() as transaction:
            transaction.seen(stream, 0, [b"CANARY-of-a-user"])
            written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"CANARY" not in written


def test_the_marks_are_not_printed() -> None:
    shown = repr(Seen(np.array([0]), np.array([424242]), np.array([434343])))
    assert "4242" not in shown
    assert "4343" not in shown


def test_the_database_refuses_other_types(tmp_path: Path) -> None:
    with new_store(tmp_path):
        connection = sqlite3.connect(tmp_path / "flu.db")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO seen VALUES (1, 0, 'text', 1, 1)")
        connection.close()
