"""Which tables and servers of Postgres are fit for events, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ameles.connectors.postgres import server as postgres_server
from ameles.connectors.postgres import source as postgres_source
from ameles.connectors.postgres.source import PostgresSource
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from tests.connectors.reading import rows
from tests.event_tables import COLUMNS, EventTable, url_of
from tests.postgres import SIGN_IN, Server


@pytest.fixture
def table(postgres: Server, tmp_path: Path) -> Iterator[EventTable]:
    made = EventTable(postgres, tmp_path)
    yield made
    made.connection.close()


class TestTables:
    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ("DROP TABLE {}", "There is no table"),
            ("ALTER TABLE {} DROP COLUMN tx", "does not say which transaction"),
            ("ALTER TABLE {} ALTER tx DROP NOT NULL", "does not say which transaction"),
            ("ALTER TABLE {} ALTER tx SET DEFAULT '7'", "does not say which transaction"),
            ("ALTER TABLE {} ALTER tx DROP DEFAULT", "does not say which transaction"),
            (
                "ALTER TABLE {0} DROP COLUMN tx; ALTER TABLE {0} ADD tx text NOT NULL "
                "DEFAULT pg_current_xact_id()",
                "does not say which transaction",
            ),
            ("DROP TRIGGER rows_stay ON {}", "no trigger before UPDATE and DELETE and TRUNCATE"),
            ("ALTER TABLE {} DISABLE TRIGGER rows_stay", "no trigger before"),
            (
                "DROP TRIGGER rows_stay ON {0}; CREATE TRIGGER t AFTER UPDATE OR DELETE OR "
                "TRUNCATE ON {0} EXECUTE FUNCTION rows_stay()",
                "no trigger before",
            ),
            (
                "DROP TRIGGER rows_stay ON {0}; CREATE TRIGGER t BEFORE UPDATE OF who OR DELETE "
                "OR TRUNCATE ON {0} EXECUTE FUNCTION rows_stay()",
                "no trigger before UPDATE",
            ),
            (
                "DROP TRIGGER rows_stay ON {0}; CREATE TRIGGER t BEFORE UPDATE OR DELETE ON {0} "
                "EXECUTE FUNCTION rows_stay()",
                "no trigger before TRUNCATE",
            ),
            ("ALTER TABLE {} SET UNLOGGED", "is an unlogged or temporary table"),
            ("CREATE TABLE {0}_part () INHERITS ({0})", "is part of a family"),
            (
                "CREATE TABLE {0}_all (who text); ALTER TABLE {0} INHERIT {0}_all",
                "is part of a family",
            ),
            ("ALTER TABLE {0} RENAME TO {0}_t; CREATE VIEW {0} AS SELECT * FROM {0}_t", "a view"),
            (
                "DROP TABLE {0}; CREATE TABLE {0} (who text, amount numeric, at timestamptz, tx "
                "xid8 NOT NULL DEFAULT pg_current_xact_id()) PARTITION BY LIST (who)",
                "is a partitioned table",
            ),
            ("ALTER TABLE {} DROP COLUMN amount", "has no column 'amount'"),
        ],
    )
    def test_a_table_that_is_not_fit(self, table: EventTable, change: str, what: str) -> None:
        table.launch().add("a")
        for statement in change.format(table.name).split("; "):
            table.connection.execute(statement)
        with pytest.raises(PlanError, match=what):
            open_source(table.url, COLUMNS, table.base, connection=table.secret)
        with pytest.raises(PlanError, match=what):
            table.source().at_launch()
        with pytest.raises(SourceUnreadable, match=what):
            table.read()

    def test_a_family_ends_with_its_last_child(self, table: EventTable) -> None:
        """Postgres notices that only if it is told to; the refusal says how."""
        table.launch().add("a")
        table.connection.execute(f"CREATE TABLE {table.name}_part () INHERITS ({table.name})")
        table.connection.execute(f"DROP TABLE {table.name}_part")
        with pytest.raises(SourceUnreadable, match="is part of a family") as refused:
            table.read()
        statement = refused.value.tip.partition("is gone, ")[2].partition("; then")[0]
        assert statement == f'ANALYZE "public"."{table.name}"'
        table.connection.execute(statement)
        assert table.read() == ["a"]

    def test_the_refusals_say_what_to_do(self, table: EventTable) -> None:
        """Their statements make a table fit, whose rows then count."""
        name = table.name
        table.connection.execute(f"DROP TABLE {name}")
        table.connection.execute(f"CREATE TABLE {name} (who text, amount numeric, at timestamptz)")
        table.add("there")
        for _ in range(2):
            problem = table.source().missing()
            assert problem is not None
            statements = problem.tip.replace("FUNCTION rows_stay() R", "FUNCTION of_mine() R")
            statements = statements.replace(
                "EXECUTE FUNCTION rows_stay", "EXECUTE FUNCTION of_mine"
            )
            for statement in (
                statements.partition("; the rows")[0].replace("; END", "# END").split("; ")
            ):
                table.connection.execute(statement.replace("# END", "; END"))
        assert table.source().missing() is None
        assert table.launch().read() == ["there"]
        with pytest.raises(psycopg.Error):
            table.connection.execute(f"DELETE FROM {name}")

    @pytest.mark.parametrize(
        "change",
        [
            "ALTER tx DROP NOT NULL",
            "ALTER tx SET DEFAULT '7'",
            "DROP COLUMN tx, ADD COLUMN tx bigint",
        ],
    )
    def test_a_column_that_is_there_is_mended(self, table: EventTable, change: str) -> None:
        table.connection.execute(f"ALTER TABLE {table.name} {change}")
        problem = table.source().missing()
        assert problem is not None
        for statement in problem.tip.partition("; the rows")[0].split("; "):
            table.connection.execute(statement)
        assert table.source().missing() is None

    def test_another_name_of_the_column(self, table: EventTable) -> None:
        table.connection.execute(f'ALTER TABLE {table.name} RENAME COLUMN tx TO "Added by"')
        table.add("a")
        source = open_source(
            f"{table.url}&tx=Added%20by", COLUMNS, table.base, connection=table.secret
        )
        assert isinstance(source, PostgresSource)
        assert len(rows(source, COLUMNS)) == 1

    def test_a_reader_with_few_privileges(self, table: EventTable) -> None:
        """SELECT on the columns of the plan, and on that of the transaction."""
        with table.server.admin(table.server.database) as admin:
            admin.execute(f"CREATE ROLE r_{table.name} LOGIN PASSWORD '{SIGN_IN}'")
        reader = url_of(table.server, table.name, user=f"r_{table.name}")
        source = open_source(reader, COLUMNS, table.base, waiting=True, connection=table.secret)
        assert isinstance(source, PostgresSource)
        table.add("a")
        table.connection.execute(f"ALTER TABLE {table.name} ADD secret text")
        with pytest.raises(SourceUnreadable, match="may not read all"):
            source.reading(None)
        table.connection.execute(
            f"GRANT SELECT (who, amount, at, tx) ON {table.name} TO r_{table.name}"
        )
        assert [row[0] for row in rows(source, COLUMNS)] == ["a"]
        table.connection.execute(f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY")
        with pytest.raises(SourceUnreadable, match="may not read all"):
            source.reading(None)

    def test_names_are_found_in_the_catalogue_alone(self, table: EventTable) -> None:
        """A function of others with the name of one of the server's is not called."""
        table.connection.execute(
            "CREATE SCHEMA IF NOT EXISTS traps; CREATE OR REPLACE FUNCTION "
            "traps.pg_visible_in_snapshot(xid8, pg_snapshot) RETURNS boolean LANGUAGE sql AS "
            "'SELECT false'"
        )
        table.connection.execute(
            "ALTER ROLE CURRENT_USER SET search_path = traps, pg_catalog, public"
        )
        try:
            table.add("a", by=table.connection)
            assert table.read() == ["a"]
        finally:
            table.connection.execute("ALTER ROLE CURRENT_USER RESET search_path")


class TestServers:
    def test_a_replica_is_refused(self, table: EventTable) -> None:
        """Its snapshots leave out the transactions that are still open."""
        table.launch()
        with table.server.replica() as replica:
            other = EventTable.__new__(EventTable)
            vars(other).update(vars(table) | {"server": replica})
            with pytest.raises(SourceAway, match="is a replica"):
                other.read()

    def test_a_server_that_is_away(self, table: EventTable, tmp_path: Path) -> None:
        url = "postgresql://me@127.0.0.1:1/nothing?table=visits"
        source = open_source(url, COLUMNS, tmp_path, waiting=True)
        assert isinstance(source, PostgresSource)
        with pytest.raises(SourceAway, match=r"'visits' of .*127.0.0.1:1/nothing cannot be read"):
            source.ends()

    def test_a_connection_that_is_ended(
        self, table: EventTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table.launch()
        source = table.source()

        def ended(self: object, connection: Any) -> None:
            with table.server.admin() as admin:
                pid = connection.info.backend_pid
                admin.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))
            connection.execute("SELECT 1")

        monkeypatch.setattr(postgres_source.EventTable, "look", ended)
        with pytest.raises(SourceAway, match="cannot be read now"):
            source.ends()

    def test_a_table_that_is_locked(
        self, table: EventTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(postgres_server.SETTINGS, "lock_timeout", "20ms")
        with table.connect() as other:
            other.execute("BEGIN")
            other.execute(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(SourceAway, match="cannot be read now"):
                table.source().reading(None)

    def test_passwords(self, table: EventTable, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(SourceAway) as refused:
            open_source(table.url, COLUMNS, table.base)
        assert SIGN_IN not in str(refused.value)
        monkeypatch.setenv("PGPASSWORD", SIGN_IN)
        open_source(table.url, COLUMNS, table.base)
        monkeypatch.delenv("PGPASSWORD")
        table.secret.write_text('pass_word = "x"\n')
        with pytest.raises(PlanError, match="with this connection file"):
            open_source(table.url, COLUMNS, table.base, connection=table.secret)

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("postgres://localhost/db", "one table"),
            ("postgres://localhost/db?table=", "one table"),
            ("postgres://localhost/db?table=a.b.c", "one table"),
            ("postgres://localhost/db?table=.b", "one table"),
            ("postgres://localhost/db?table=a&table=b", "one table"),
            ("postgres://localhost/db?table=a&no_such=b", "cannot be read"),
            ("postgres://me:word@localhost/db?table=a", "contains a password"),
            ("postgres://me@localhost/db?table=a&password=word", "contains a password"),
            ("postgresql://me@localhost/db?table=a&sslpassword=word", "contains a password"),
        ],
    )
    def test_addresses(self, text: str, what: str, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match=what) as refused:
            open_source(text, COLUMNS, tmp_path)
        assert "word@" not in str(refused.value)
        assert "=word" not in str(refused.value)
        assert "word" not in PostgresSource.describe(text)

    def test_it_is_named_without_its_options(self) -> None:
        text = "postgres://me@db.example/clinic?sslmode=require&table=north.visits&tx=t"
        assert (
            PostgresSource.describe(text)
            == "the table 'visits' of postgresql://me@db.example/clinic"
        )

    def test_positions_of_other_sources_are_refused(self, table: EventTable) -> None:
        with pytest.raises(StoreRefused, match="not one of postgres"):
            table.source().reading('{"ameles":"position","version":1,"kind":"http","batches":0}')
