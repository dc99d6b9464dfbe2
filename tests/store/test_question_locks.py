"""The lock of a question: one process computes an answer, and no file is left behind."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import question_lock
from ameles.store.sqlite.lock_files import held, is_held
from tests.ledger.populations import costing
from tests.store.places import Place
from tests.store.stores import new_store, open_visitors, visitors


def test_only_one_process_answers_a_question(place: Place) -> None:
    name = question_lock("visitors", 17)
    with new_store(place) as store, new_store(place) as other:
        with store.writing() as transaction:
            open_visitors(transaction)
        for _ in range(2):
            with store.holding(name):
                assert other.held(name)
                with (
                    pytest.raises(
                        StoreRefused, match="question 'visitors/17' is being answered by another"
                    ),
                    other.holding(name),
                ):
                    pass
                with other.holding(question_lock("visitors", 1)), other.writing() as transaction:
                    visitors(transaction).start(costing("1/8"), on="x", why="y")
            assert not other.held(name)


def test_the_lock_of_a_question_leaves_no_file(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        before = sorted(tmp_path.iterdir())
        with store.holding(question_lock("visitors", 17)):
            assert sorted(tmp_path.iterdir()) != before
        assert sorted(tmp_path.iterdir()) == before
        with store.holding("flu"):
            pass
        assert [file.name for file in tmp_path.iterdir() if file not in before] == [
            "flu.db-flu.lock"
        ]


def test_a_lock_file_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its holder removes it between the opening and the locking of another process, and a third
    # has a new file of that name.
    store, name = tmp_path / "flu.db", question_lock("visitors", 17)
    real, third = fcntl.flock, ExitStack()

    def late(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        (lock,) = tmp_path.iterdir()
        lock.unlink()
        third.enter_context(held(store, name))
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with third, pytest.raises(StoreRefused, match="answered by another"), held(store, name):
        pass
    with held(store, name):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_is_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, name, real = tmp_path / "flu.db", question_lock("visitors", 17), fcntl.flock

    def late(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        next(tmp_path.iterdir()).unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with held(store, name):
        assert is_held(store, name)


def test_a_forked_process_leaves_the_lock_to_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.getpid()
    with held(tmp_path / "flu.db", question_lock("visitors", 17)):
        monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert len(list(tmp_path.iterdir())) == 1
