"""What a live step costs: commits, syncs and statements, counted and not timed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import FEW, KeptConnection
from ameles.connectors.source import SeekableSource
from ameles.connectors.text.csv_lines import CsvLines
from ameles.core import codec
from ameles.engine.engine import Engine
from ameles.engine.gathering.pending import Pending
from ameles.engine.running.session import Session
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.store.sqlite.store import SqliteStore
from tests.engine.worlds import COUNT, World, row

SINK = '[[sink]]\ncsv = "out.csv"\n'


class Costs:
    """What was done, by kind."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.calls: dict[str, int] = {}

    def forget(self) -> None:
        self.statements.clear()
        self.calls.clear()

    @property
    def commits(self) -> int:
        """Transactions that write."""
        return sum(text.startswith("BEGIN IMMEDIATE") for text in self.statements)

    @property
    def readings(self) -> int:
        """Transactions that read."""
        return sum(text == "BEGIN" for text in self.statements)

    def counting(self, patch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        """Counts the calls of a function from now on."""
        true: Callable[..., object] = getattr(owner, name)

        def counted(*given: object, **named: object) -> object:
            self.calls[name] = self.calls.get(name, 0) + 1
            return true(*given, **named)

        patch.setattr(owner, name, counted)


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Costs:
    counted = Costs()
    connect = SqliteStore._connect

    def traced(store: SqliteStore) -> sqlite3.Connection:
        connection = connect(store)
        connection.set_trace_callback(counted.statements.append)
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", traced)
    counted.counting(monkeypatch, os, "fsync")
    counted.counting(monkeypatch, os, "ftruncate")
    counted.counting(monkeypatch, codec, "parse")
    counted.counting(monkeypatch, KeptConnection, "reading")
    counted.counting(monkeypatch, Pending, "to_bytes")
    counted.counting(monkeypatch, LaplaceError, "bounds")
    counted.counting(monkeypatch, CsvLines, "relation")
    return counted


def steps(world: World, costs: Costs, *, rows: bool = False) -> Iterator[int]:
    """Steps one by one; what comes before the first and with it is not counted."""
    with SqliteStore(world.folder / "s.db") as store:
        engine = Engine(world.plan, store)
        source = engine.source()
        assert isinstance(source, SeekableSource)
        with engine.session() as session:
            taken(session, source, 1)
            for step in range(2, 40):
                if rows:
                    world.append([row(step, hour=1)])
                costs.forget()
                taken(session, source, step)
                yield step


def taken(session: Session, source: SeekableSource[Any], step: int) -> None:
    session.take(source.reading(session.position, source.ends()), step)
    session.publish()


def test_a_step_is_one_commit(tmp_path: Path, costs: Costs) -> None:
    world = World(tmp_path, horizon=1000).write([])
    bounds = 0
    for _ in steps(world, costs):
        assert (costs.commits, costs.readings) == (1, 0)
        assert len(costs.statements) <= 9, costs.statements
        assert not any("salt" in text for text in costs.statements), "the plan is not read again"
        bounds += costs.calls.pop("bounds", 0)
        assert costs.calls == {}, "nothing came: nothing to ask, to keep or to sync"
    assert bounds == 0, "those of the first step are of many"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_sink_costs_one_sync_and_one_reading(kind: str, tmp_path: Path, costs: Costs) -> None:
    sink = SINK.replace("csv", kind)
    world = World(tmp_path, horizon=1000, rest=sink).write([])
    for _ in steps(world, costs):
        assert (costs.commits, costs.readings) == (1, 1)
        assert len(costs.statements) <= 14, costs.statements
        assert costs.calls == {"fsync": 1}, "no note is parsed, and nothing is cut"


def test_the_cost_does_not_grow_with_releases(tmp_path: Path, costs: Costs) -> None:
    releases = COUNT + COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
    one, two = tmp_path / "one", tmp_path / "two"
    counts = []
    for folder, text in ((one, COUNT), (two, releases)):
        world = World(folder, text, horizon=1000, rest=SINK).write([])
        counts.append([len(costs.statements) for _ in steps(world, costs)][-1])
        assert costs.commits == 1
    more = counts[1] - counts[0]
    assert 0 < more <= 7, "the values and the state of the other release, and checks of them"


def test_rows_are_asked_for_once(tmp_path: Path, costs: Costs) -> None:
    world = World(tmp_path, horizon=1000, rest=SINK).write([])
    written = 0
    for _ in steps(world, costs, rows=True):
        assert (costs.commits, costs.readings) == (1, 1)
        written += costs.calls.pop("relation", 0)
        assert costs.calls == {"fsync": 1, "reading": 1}
    assert written == 1, "the SQL of lines is written with the first of them"


def test_a_few_lines_are_read_by_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, costs: Costs
) -> None:
    """To wake up other threads takes longer than a query on a few lines."""
    threads, reading = list[int](), KeptConnection.reading

    def asked(kept: KeptConnection, *given: Any) -> Any:
        duck = reading(kept, *given)
        threads.append(duck.execute("SELECT current_setting('threads')").fetchall()[0][0])
        return duck

    monkeypatch.setattr(KeptConnection, "reading", asked)
    world = World(tmp_path, horizon=1000).write([])
    for _ in islice(steps(world, costs, rows=True), 3):
        assert set(threads) == {1}


def test_a_large_reading_has_a_connection_of_its_own() -> None:
    kept = KeptConnection(zone="UTC", memory=1 << 28, threads=2)
    few, many = kept.reading((), FEW), kept.reading((), FEW + 1)
    asked = [duck.execute("SELECT current_setting('threads')").fetchall() for duck in (few, many)]
    assert asked == [[(1,)], [(2,)]]
    assert kept.reading((), 1) is few
    assert kept.reading((), 1 << 30) is kept.reading(()) is many
    kept.close()
    for duck in (few, many):
        with pytest.raises(duckdb.ConnectionException):
            duck.execute("SELECT 1")
    assert kept.reading((), 1) is not few
    kept.close()
