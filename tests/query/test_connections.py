"""Connections that a table uses again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ameles.query.connections import Connections
from ameles.query.row_source import MEMORY, ZONE


@pytest.fixture(name="connections")
def _connections() -> Connections:
    return Connections(zone=ZONE, memory=MEMORY)


def test_a_connection_is_lent_again_for_the_same_files(connections: Connections) -> None:
    with connections.lent(()) as first:
        pass
    with connections.lent(()) as second:
        assert second is first


def test_two_questions_at_a_time_have_two_connections_and_one_is_closed_after(
    connections: Connections,
) -> None:
    with connections.lent(()) as first, connections.lent(()) as second:
        assert second is not first
    with pytest.raises(duckdb.ConnectionException):
        second.execute("SELECT 1")
    with connections.lent(()) as third:
        assert third is first


def test_other_files_have_another_connection_that_may_open_them(
    connections: Connections, tmp_path: Path
) -> None:
    paths = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for path in paths:
        duckdb.sql(f"COPY (SELECT 1 AS x) TO '{path}'")
    for path in paths:
        with connections.lent((path,)) as duck:
            assert duck.execute(f"SELECT x FROM '{path}'").fetchall() == [(1,)]


def test_questions_take_turns_at_the_connection_that_is_kept() -> None:
    changed = list[str]()

    class Watched(Connections):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "_idle" and "_idle" in vars(self):
                assert self._lock.locked(), "another question may change it, too"
                changed.append(name)
            super().__setattr__(name, value)

    connections = Watched(zone=ZONE, memory=MEMORY)
    for _ in range(2):
        with connections.lent(()):
            pass
    assert len(changed) == 3, "kept, taken and kept"


def test_a_connection_is_not_kept_after_a_failure(connections: Connections) -> None:
    with pytest.raises(ZeroDivisionError), connections.lent(()) as first:
        raise ZeroDivisionError
    with pytest.raises(duckdb.ConnectionException):
        first.execute("SELECT 1")
    with connections.lent(()) as second:
        assert second is not first


def test_another_process_does_not_use_the_connection(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connections.lent(()) as first:
        pass
    own: Callable[[], int] = os.getpid
    with monkeypatch.context() as forked:
        forked.setattr("os.getpid", lambda: own() + 1)
        with connections.lent(()) as second:
            assert second is not first
    with connections.lent(()) as third:  # the first process goes on as before
        assert third is first
