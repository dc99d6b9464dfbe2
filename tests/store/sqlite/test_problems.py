"""Failures of a database: real ones, as sentences."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store.sqlite.problems import is_double, refusal
from tests.store.places import Place
from tests.store.stores import launch, new_store


def locked(path: Path) -> None:
    first = sqlite3.connect(path, isolation_level=None)
    second = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        first.execute("BEGIN EXCLUSIVE")
        second.execute("BEGIN IMMEDIATE")
    finally:
        first.close()
        second.close()


def one_try(address: str, *statements: str) -> None:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def read_only(path: Path) -> None:
    one_try(f"{path.as_uri()}?mode=ro", "CREATE TABLE u (x)")


def gone(path: Path) -> None:
    one_try(f"{path.parent.as_uri()}/none.db?mode=rw", "SELECT 1")


def full(path: Path) -> None:
    one_try(path.as_uri(), "PRAGMA max_page_count = 3", "CREATE TABLE a (x)", "CREATE TABLE b (x)")


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)
    one_try(path.as_uri(), "SELECT * FROM sqlite_master")


def doubled(path: Path) -> None:
    one_try(path.as_uri(), "CREATE TABLE k (x PRIMARY KEY)", *["INSERT INTO k VALUES (1)"] * 2)


def mistaken(path: Path) -> None:
    one_try(path.as_uri(), "SELECT nonsense")


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        (locked, "is locked"),
        (read_only, "read-only"),
        (gone, "cannot be opened"),
        (full, "the disk is full"),
        (no_database, "is not a store of Ameles"),
        (doubled, "refused a change"),
        (mistaken, "does not know"),
    ],
)
def test_each_failure_has_its_sentence(
    tmp_path: Path, failing: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "flu.db"
    one_try(path.as_uri(), "CREATE TABLE t (x)")
    with pytest.raises(sqlite3.Error) as caught:
        failing(path)
    told = refusal(caught.value, "flu.db")
    assert words in str(told)
    assert told.what.startswith("The store 'flu.db' ")
    assert told.why
    assert str(caught.value) not in str(told), "what SQLite says is not repeated"


@pytest.mark.parametrize(
    ("flag", "free", "words"),
    [(os.ST_RDONLY, 10**9, "read-only"), (0, 0, "disk is full"), (0, 10**9, "cannot be opened")],
)
def test_the_disk_says_what_sqlite_does_not(
    flag: int, free: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(sqlite3.Error) as caught:
        gone(tmp_path / "flu.db")
    disk = mock.Mock(f_flag=flag, f_bavail=free, f_frsize=1)
    monkeypatch.setattr(os, "statvfs", lambda folder: disk)
    assert words in str(refusal(caught.value, str(tmp_path / "flu.db")))


def test_what_cannot_be_kept_is_a_sentence(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        for sink, step in (("a", 2**63), ("\ud800", 1)):
            with (
                pytest.raises(StoreRefused, match="cannot keep this") as caught,
                store.writing() as transaction,
            ):
                transaction.set_sent(stream, sink, step)
            assert caught.value.__suppress_context__


def test_a_misuse_without_a_code_is_a_sentence_too() -> None:
    assert "does not know" in str(refusal(sqlite3.ProgrammingError("x"), "flu.db"))


def test_only_second_rows_are_double(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError) as caught:
        doubled(tmp_path / "a.db")
    assert is_double(caught.value)
    with pytest.raises(sqlite3.IntegrityError) as caught:
        one_try(":memory:", "CREATE TABLE t (x NOT NULL)", "INSERT INTO t VALUES (NULL)")
    assert not is_double(caught.value)
