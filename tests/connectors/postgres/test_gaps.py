"""Rows of Postgres that are gone, or whose numbers say nothing, are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ameles.connectors.postgres.snapshot import Snapshot
from ameles.connectors.reading import Skipped
from ameles.connectors.source import SourceAway
from ameles.core.exceptions import SourceUnreadable
from tests.connectors.reading import rows_of
from tests.event_tables import COLUMNS, GUARD, TX, EventTable
from tests.postgres import Server


@pytest.fixture
def table(postgres: Server, tmp_path: Path) -> Iterator[EventTable]:
    made = EventTable(postgres, tmp_path)
    yield made
    made.connection.close()


def test_rows_that_were_read_may_go(table: EventTable) -> None:
    table.launch().add("a")
    table.read()
    table.unguarded(f"DELETE FROM {table.name}")
    table.add("b")
    assert table.read() == ["b"]
    table.connection.execute(f"VACUUM FULL {table.name}")
    table.add("c")
    assert table.read() == ["c"]


def test_rows_that_go_while_they_are_read(table: EventTable) -> None:
    table.launch().add("a", "b")
    reading = table.source().reading(table.position)
    table.unguarded(f"DELETE FROM {table.name} WHERE who = 'a'")
    with pytest.raises(SourceUnreadable, match="added or removed"):
        rows_of(reading, COLUMNS)


@pytest.mark.parametrize(
    "how", ["another table", "another column", "another database", "older", "later"]
)
def test_a_table_or_server_that_is_another(
    table: EventTable, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.launch().add("a")
    table.read()
    stored = table.position or ""
    left = ["b"]
    match how:
        case "another table":
            table.connection.execute(f"ALTER TABLE {table.name} RENAME TO {table.name}_old")
            table.connection.execute(
                f"CREATE TABLE {table.name} AS SELECT who, amount, at FROM {table.name}_old"
            )
            table.connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {TX}")
            table.connection.execute(GUARD.format(table.name))
            left = []  # rows that may have counted
        case "another column":  # all rows get the transaction that adds it, those that counted too
            table.connection.execute(f"ALTER TABLE {table.name} DROP COLUMN tx")
            table.connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {TX}")
            left = []
        case "another database":
            stored = stored.replace('"system":"', '"system":"1')
            left = []
        case "older":
            end = Snapshot.of(table.source()._stored(stored)["snapshot"]).end
            # the number of a transaction that was open then is one that counted before
            ((again,),) = table.connection.execute(f"SELECT tx::text FROM {table.name}").fetchall()
            stored = stored.replace(f":{end}:", f":{end + 1000}:{again}")
            left = []
        case "later":  # a standby took over: what it had not received is lost
            stored = stored.replace('"timeline":"0', '"timeline":"F')
    assert stored != (table.position or "") or how in ("another table", "another column")
    table.position = stored
    table.add("b")
    for _ in range(2):
        with pytest.raises(SourceUnreadable, match=r"The table .* is not as it was left"):
            table.read()
    source = table.source(skip_gap="moved")
    reading = source.reading(table.position)
    assert reading.gaps == (Skipped(source._table.address.shown, "moved"),)
    assert table.take(reading) == left
    table.add("c")
    assert table.read() == ["c"]


def test_positions_of_earlier_versions_do_not_name_the_column(table: EventTable) -> None:
    table.launch().add("a")
    table.read()
    fields = json.loads(table.position or "")
    assert fields.pop("column")
    table.position = json.dumps(fields)
    table.add("b")
    assert table.read() == ["b"]


def test_nothing_is_skipped_where_nothing_is_missing(table: EventTable) -> None:
    table.launch().add("a")
    source = table.source(skip_gap="who knows")
    reading = source.reading(table.position)
    assert reading.gaps == ()
    assert table.take(reading) == ["a"]
    stored = (table.position or "").replace('"timeline":"0', '"timeline":"F')
    with pytest.raises(SourceUnreadable, match="is not as it was left"):
        source.reading(stored)  # the declaration was about the reading before


@pytest.mark.parametrize("ahead", ["open", "later"])
def test_rows_of_transactions_that_have_not_ended(table: EventTable, ahead: str) -> None:
    """As after a dump that was restored on another server, or by a writer who sets tx."""
    table.launch()
    with table.connect() as slow:
        slow.execute("BEGIN")
        table.add("slow", by=slow)
        ((number,),) = slow.execute("SELECT pg_current_xact_id()::text").fetchall()
        table.add("done")
        tx = number if ahead == "open" else "1000000000000"
        table.connection.execute(f"INSERT INTO {table.name} VALUES ('x', 1, now(), '{tx}')")
        with pytest.raises(SourceUnreadable, match="transactions that have not ended"):
            table.read()


def test_a_server_that_is_another_while_it_is_read(table: EventTable) -> None:
    table.launch().add("a")
    reading = table.source().reading(table.position)
    table.connection.execute(f"ALTER TABLE {table.name} RENAME TO {table.name}_old")
    table.connection.execute(f"CREATE TABLE {table.name} (LIKE {table.name}_old INCLUDING ALL)")
    table.connection.execute(GUARD.format(table.name))
    with pytest.raises(SourceAway, match="another server or table"):
        rows_of(reading, COLUMNS)
