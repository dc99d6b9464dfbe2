"""Tables of a real Postgres: each row counts once, when its transaction has ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.postgres import source as postgres_source
from ameles.connectors.postgres.snapshot import new_rows
from ameles.connectors.source import SourceAway
from tests.concurrent_writers import Writers
from tests.connectors.reading import rows, rows_of
from tests.event_tables import AT, COLUMNS, EventTable
from tests.faults.choices import Choices
from tests.postgres import SIGN_IN, Server


@pytest.fixture
def table(postgres: Server, tmp_path: Path) -> Iterator[EventTable]:
    made = EventTable(postgres, tmp_path)
    yield made
    made.connection.close()


@pytest.fixture
def wide_table(request: pytest.FixtureRequest, table: EventTable) -> EventTable:
    """One with more columns."""
    for column in request.param.split(", "):
        table.connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {column}")
    return table


@pytest.mark.parametrize(
    "wide_table",
    ["plain timestamp, f float8, b bytea, l text[], j json, n numeric, d date, i interval"],
    indirect=True,
)
def test_the_columns_of_a_row_are_columns(wide_table: EventTable) -> None:
    table = wide_table
    into = f"{table.name} (who, amount, at, plain, f, b, l, j, n, d, i)"
    table.connection.execute("SET timezone = 'Asia/Tokyo'")
    table.connection.execute(
        f"INSERT INTO {into} VALUES ('ann', 1.5, %s, '2026-01-02 10:00', 'NaN', '\\x00ff', "
        '\'{a,b}\', \'{"deep":\n {"er": "\\u0000", "x": 7}}\', 12345678901234567890.5, '
        "'2026-01-02', '1 day')",
        (AT,),
    )
    table.connection.execute(
        f"INSERT INTO {into} VALUES (E'line\\nbreak \"\\\\', NULL, 'infinity', '-infinity', "
        "'Infinity', NULL, NULL, NULL, 'NaN', '0044-03-15 BC', NULL)"
    )
    columns = {
        **COLUMNS,
        "plain": "timestamp",
        "f": "number",
        "b": "text",
        "l": "text",
        "j.deep.x": "integer",
        "j": "text",
        "n": "text",
        "d": "timestamp",
        "i": "text",
    }
    read = rows(table.source(columns), columns, zone="Europe/Rome")
    at, rome = 1_767_348_000_000_000, 1_767_344_400_000_000
    midnight = 1_767_308_400_000_000
    deep = '{"deep":{"er":"\\u0000","x":7}}'
    (ann,) = (row for row in read if row[0] == "ann")
    assert ann[:3] == ("ann", 1.5, at)
    assert ann[3] == rome  # a time without a zone is one of the plan's zone, as in files
    assert ann[5:8] == ("\\x00ff", '["a","b"]', 7)
    assert ann[8].replace(" ", "") == deep
    assert ann[9:] == ("12345678901234567890.5", midnight, "P1D")
    (other,) = (row for row in read if row[0] != "ann")
    assert other[:4] == ('line\nbreak "\\', None, None, None)
    assert other[9:11] == ("NaN", None)


def test_a_row_that_is_too_long_counts_nowhere_and_stops_nothing(table: EventTable) -> None:
    table.connection.execute(
        f"INSERT INTO {table.name} (who, amount, at) SELECT repeat('x', n), 1, %s "
        "FROM unnest(ARRAY[10, 1048000, 1048577]) AS n",
        (AT,),
    )
    table.connection.execute("SET default_toast_compression = 'lz4'")
    # as JSON, each of these characters takes six: no text of that length exists
    table.connection.execute(
        f"INSERT INTO {table.name} (who, amount, at) VALUES (repeat(chr(1), 179000000), 1, %s)",
        (AT,),
    )
    assert sorted(map(len, table.read())) == [10, 1_048_000]


@pytest.mark.parametrize("wide_table", ["more jsonb"], indirect=True)
def test_a_large_value_of_another_type_counts_nowhere(wide_table: EventTable) -> None:
    table = wide_table
    table.connection.execute(
        f"INSERT INTO {table.name} (who, more) SELECT n::text, to_jsonb(ARRAY(SELECT md5(m::text) "
        "FROM generate_series(1, n) AS m)) FROM unnest(ARRAY[2, 3000, 30000]) AS n"
    )
    columns = {"who": "text", "more.1": "text"}
    assert [row[0] for row in rows(table.source(columns), columns)] == ["2", "3000"]


def test_every_row_is_read_once(table: EventTable) -> None:
    table.add("before the launch")
    table.launch()
    table.add(*"abc")
    assert table.read() == ["a", "b", "before the launch", "c"]
    assert table.read() == []
    table.add("d")
    assert table.read() == ["d"]


def test_ends_are_where_the_table_was(table: EventTable) -> None:
    table.launch().add("a")
    source = table.source()
    ends = source.ends()
    table.add("b")
    assert table.take(source.reading(table.position, ends)) == ["a"]
    assert table.read() == ["b"]


def test_a_piece_is_read_by_another_process(table: EventTable) -> None:
    table.launch().add("a")
    reading = table.source().reading(table.position)
    table.add("b")
    again = ForkingPickler.loads(ForkingPickler.dumps(reading))
    assert rows_of(again, COLUMNS) == rows_of(reading, COLUMNS)
    assert [repr(piece) for piece in again.pieces] == ["<PostgresPiece>"]
    assert SIGN_IN.encode() not in bytes(ForkingPickler.dumps(reading))


def test_a_transaction_that_commits_late_counts_then_and_delays_nobody(table: EventTable) -> None:
    table.launch()
    with table.connect() as slow, table.connect() as two_phases:
        slow.execute("BEGIN")
        table.add("slow", by=slow)
        slow.execute("SAVEPOINT s")
        table.add("slow too", by=slow)
        slow.execute("SAVEPOINT t")
        table.add("undone", by=slow)
        slow.execute("ROLLBACK TO t")
        two_phases.execute("BEGIN")
        table.add("prepared", by=two_phases)
        two_phases.execute(f"PREPARE TRANSACTION '{table.name}'")
        table.add("quick")
        assert table.read() == ["quick"]
        slow.execute("COMMIT")
        assert table.read() == ["slow", "slow too"]
        table.add("next")
        assert table.read() == ["next"]
        two_phases.execute(f"COMMIT PREPARED '{table.name}'")
        assert table.read() == ["prepared"]
        assert table.read() == []


@pytest.mark.parametrize("seed", range(2))
def test_many_writers_in_any_order(table: EventTable, seed: int) -> None:
    """Each row is read once, in the first reading after its commit."""
    draw = Choices("writers", seed)
    table.launch()
    readings = 0
    with Writers(table, draw) as writers:
        for _ in range(150):
            writers.move()
            if draw.chance(10):
                assert table.read() == sorted(writers.due)
                writers.due = []
                readings += 1
    assert readings > 5
    assert table.read() == sorted(writers.due)


def test_a_reading_looks_at_new_rows_alone(table: EventTable) -> None:
    """With an index it finds them by their transactions, however long one has been open."""
    table.connection.execute(
        f"INSERT INTO {table.name} (who) SELECT 'x' FROM generate_series(1, 20000)"
    )
    with table.connect() as slow:
        slow.execute("BEGIN")
        table.add("slow", by=slow)
        for _ in range(3):
            table.connection.execute(
                f"INSERT INTO {table.name} (who) SELECT 'x' FROM generate_series(1, 5000)"
            )
        table.connection.execute(f"ANALYZE {table.name}")
        old = table.source().ends().snapshot
        assert old.open
        table.add("a", "b")
        slow.execute("COMMIT")
        new = table.source().ends().snapshot
    query = new_rows(table.name, "t.tx", old, new, "who")
    ((plan,),) = table.connection.execute(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}"
    ).fetchall()
    kinds, touched = set(), 0
    todo = [plan[0]["Plan"]]
    while todo:
        node = todo.pop()
        kinds.add(node["Node Type"])
        todo += node.get("Plans", [])
    touched = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
    assert "Seq Scan" not in kinds
    assert touched < 30  # of about 250 blocks


class TestServerCrash:
    def test_a_position_survives_a_crash_of_the_server(
        self, postgres: Server, table: EventTable
    ) -> None:
        """Without a wait for its log, a crash would give the number of an undone transaction to a
        row of another one, which then seems to have been read."""
        table.launch()
        with table.connect() as writer:
            for _ in range(5):
                writer.execute("BEGIN")
                table.add("undone", by=writer)
                writer.execute("ROLLBACK")
            end = table.source().ends()
            postgres.restart(signal.SIGQUIT)
        assert table.source().ends().snapshot.goes_on(end.snapshot)
        with table.connect() as writer:
            table.add("a", by=writer)
        assert table.read() == ["a"]

    def test_the_log_is_waited_for(
        self, table: EventTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = list[bool]()
        wait = postgres_source._is_kept

        def noted(connection: Any, now: Any, deadline: float) -> bool:
            asked = "SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn"
            whole = wait(connection, now, deadline)
            kept.append(connection.execute(asked, (now.logged,)).fetchone()[0])
            return whole

        monkeypatch.setattr(postgres_source, "_is_kept", noted)
        table.connection.execute("SET synchronous_commit = off")
        with table.connect() as slow:  # an open transaction, after which nobody writes the log
            slow.execute("BEGIN")
            table.add("slow", by=slow)
            table.source().ends()
        assert kept == [True]

    def test_a_log_that_is_never_written(
        self, table: EventTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres_source, "PATIENCE", 0.2)
        monkeypatch.setattr(postgres_source, "_is_kept", lambda *_: False)
        with pytest.raises(SourceAway, match="does not write its log"):
            table.source().ends()

    def test_another_session_of_the_server_shows_nothing(self, table: EventTable) -> None:
        with table.source()._table.address.reading() as connection:
            now = table.source()._table.look(connection)
            other = type(now)(now.place, now.snapshot, now.logged, now.backend + 1, now.line)
            assert not postgres_source._is_kept(connection, other, float("inf"))
