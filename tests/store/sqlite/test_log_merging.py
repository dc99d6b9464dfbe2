"""The log of a store, merged in a thread: no commit does it meanwhile, and the log begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store.sqlite import connection, log_merging
from ameles.store.sqlite.log_merging import LogMerging
from ameles.store.sqlite.store import SqliteStore

LARGE = "x" * 100_000  # 25 pages


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    monkeypatch.setattr(connection, "PAGES", 20)
    monkeypatch.setattr("ameles.store.sqlite.store.PAGES", 20)
    monkeypatch.setattr(log_merging, "SECONDS", 600.0)  # the tests look themselves
    monkeypatch.setattr(log_merging, "COMMITS", 2)
    with SqliteStore(tmp_path / "s.db") as store:
        yield store


def write(store: SqliteStore, text: str = LARGE) -> None:
    with store.writing() as transaction:
        transaction._session.write(
            "INSERT INTO meta VALUES ('text', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (text,),
        )


def merged(store: SqliteStore) -> bool:
    """Whether the file itself has what was written."""
    return store.path.read_bytes().count(b"x") >= len(LARGE)


def test_commits_leave_the_log_alone_while_a_thread_merges_it(store: SqliteStore) -> None:
    with store.merging_aside():
        write(store)
        assert not merged(store)
    write(store, LARGE + "more")
    assert merged(store), "a commit merges the log when no thread does"


def test_the_thread_merges_after_enough_commits_and_the_log_begins_anew(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = list[bool]()

    @contextmanager
    def alone() -> Iterator[None]:
        turns.append(True)
        yield

    with store.merging_aside(), store._alone() as own:
        merging = LogMerging(own, lambda: store._commits, alone)
        write(store)
        merging.look()
        assert not merged(store), "one commit is not enough"
        write(store)
        merging.look()
        assert merged(store)
        assert not turns, "a short log need not begin anew"
        monkeypatch.setattr(log_merging, "LONG", 1)
        write(store)
        write(store)
        merging.look()
        assert turns == [True]
        before = Path(f"{store.path}-wal").stat().st_size
        write(store)
        assert Path(f"{store.path}-wal").stat().st_size == before
        merging.stop()


def test_a_store_that_is_locked_for_long_does_not_end_the_thread(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_merging, "LONG", 0)

    @contextmanager
    def never() -> Iterator[None]:
        raise StoreRefused("The store is locked.")
        yield

    with store._alone() as own:
        merging = LogMerging(own, lambda: 9, never)
        merging._merged = 0
        merging.look()
        merging.stop()
