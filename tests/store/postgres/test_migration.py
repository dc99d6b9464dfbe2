"""Migrations in Postgres: whole or not at all, older to newer, never the other way."""

from __future__ import annotations

from itertools import product

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, open_store
from ameles.store.migration import scripts as sqlite_scripts
from ameles.store.postgres.address import address_of
from ameles.store.postgres.connection import connect
from ameles.store.postgres.migration import SECRET, migrate, scripts, version_of
from tests.each import together
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, new_store
from tests.store.test_migration import (
    FIXTURES,
    holds_what_users_added,
    holds_what_was_asked,
    holds_what_was_lost,
    holds_what_was_served,
    holds_what_was_written,
)
from tests.warm_processes import run

NEWER = "ALTER TABLE stream ADD COLUMN note TEXT NOT NULL DEFAULT 'none'; CREATE TABLE more (x INT)"
CHECKED = "0e2333dd1339e8dbe9d2a035504fe0591b31d18cd2c590ab2c35066f9e1dbbf3"  # the plan of "clinic"
PATCHED = "ameles.store.postgres.migration.scripts"


def test_both_databases_have_the_same_versions_and_tables() -> None:
    assert len(scripts()) == len(sqlite_scripts())
    for ours, theirs in zip(scripts(), sqlite_scripts(), strict=True):
        assert named(ours) == named(theirs)


def named(script: str) -> list[str]:
    lines = script.splitlines()
    return [line for line in lines if line.startswith(("CREATE TABLE", "CREATE VIEW"))]


def with_version(version: int, postgres: Server) -> str:
    """A database with a store as the first program of this version wrote it."""
    database = postgres.new_database()
    with postgres.admin(database) as connection:
        connection.execute("SET ROLE owner")
        connection.execute(
            (FIXTURES / "postgres" / f"version_{version}.sql").read_text(encoding="utf-8").encode()
        )
    return database


@pytest.mark.parametrize("version", range(1, len(scripts()) + 1))
def test_a_store_of_every_version_is_read(postgres: Server, version: int) -> None:
    database = with_version(version, postgres)
    with open_store(postgres.url(database), create=False) as store:
        if version >= 3:
            holds_what_ran(store)
        if version >= 4:
            holds_what_was_asked(store, version)
        if version >= 6:
            holds_what_was_served(store)
        if version >= 7:
            holds_what_was_lost(store)
        if version >= 8:
            holds_what_users_added(store)
        assert repr(store) == f"<PostgresStore 'postgresql://owner@{postgres.folder}/{database}'>"
        holds_what_was_written(store)


def holds_what_ran(store: Store) -> None:
    """From version 3 on the fixtures also have a stream that was checked, launched and run for two
    days, beside the one that was migrated from version 2."""
    with store.reading() as transaction:
        stream = transaction.stream("clinic")
        assert stream is not None
        assert (stream.released, stream.rules) == (2, 2)
        assert [row[6] for row in transaction.release_rows(stream)] == [-4, -2]
        population = transaction.population("patients")
        assert population is not None
        assert population.phase == "604800s from 1970-01-04T00:00:00 UTC"
        assert transaction.checked(CHECKED) is not None


def schema_of(place: PostgresPlace) -> list[tuple[str, ...]]:
    with place.connected() as connection:
        columns: list[tuple[str, ...]] = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = current_schema() ORDER BY 1, ordinal_position"
        ).fetchall()
    return columns


def test_an_older_store_is_migrated_and_a_newer_one_refused(
    schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_store(schema) as store, store.writing() as transaction:
        launch(transaction)
    newest = (*scripts(), NEWER)
    with new_store(schema) as older:
        with monkeypatch.context() as newer_program:
            newer_program.setattr(PATCHED, lambda: newest)
            with new_store(schema) as store, store.reading() as transaction:
                assert [stream.name for stream in transaction.streams()] == ["flu"]
        # a program that was running meanwhile sees it at its next transaction
        for begin in (older.reading, older.writing):
            with pytest.raises(StoreRefused, match=f"has version {len(newest)}"), begin():
                pass
    with schema.connected() as connection:
        assert connection.execute("SELECT note FROM stream").fetchall() == [("none",)]
    before = schema_of(schema)
    told = f"has version {len(newest)}; this program reads up to version {len(scripts())}"
    with pytest.raises(StoreRefused, match=told):
        new_store(schema)
    assert schema_of(schema) == before


def test_a_migration_that_fails_leaves_the_old_version_whole(schema: PostgresPlace) -> None:
    new_store(schema).close()
    before = schema_of(schema)
    wire = connect(address_of(schema.url), 10)
    with pytest.raises(StoreRefused, match="does not know"):
        migrate(
            wire,
            schema.schema,
            "flu",
            migrations=(*scripts(), NEWER, "CREATE TABLE stream (x INT)"),
        )
    assert version_of(wire, schema.schema) == len(scripts())
    wire.close()
    assert schema_of(schema) == before


def test_a_crash_inside_the_first_migration_leaves_nothing(schema: PostgresPlace) -> None:
    program = (
        "import os, sys\n"
        "from ameles.store import open_store\n"
        "from ameles.store.postgres.connection import Wire\n"
        "real = Wire.execute\n"
        "def dying(self, sql, values=None):\n"
        "    if sql.startswith('INSERT INTO meta'):\n"
        "        os._exit(9)\n"
        "    return real(self, sql, values)\n"
        "Wire.execute = dying\n"
        "open_store(sys.argv[1])\n"
    )
    ended = run("-c", program, schema.url)
    assert ended.returncode == 9
    assert schema_of(schema) == []
    with new_store(schema) as store, store.writing() as transaction:
        launch(transaction)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE customers (name TEXT)",
        "CREATE TABLE meta (name TEXT, value TEXT)",
        "CREATE TABLE meta (number INT)",
        "CREATE TABLE meta AS SELECT 'version' AS name, 'many' AS value",
    ],
)
def test_a_schema_of_another_program_is_refused_and_left_alone(
    schema: PostgresPlace, statement: str
) -> None:
    with schema.connected() as connection:
        connection.execute(f"CREATE SCHEMA {schema.schema}")
        connection.execute(statement.encode())
    before = schema_of(schema)
    with pytest.raises(StoreRefused, match="another program"):
        new_store(schema)
    assert schema_of(schema) == before


def test_an_empty_schema_that_somebody_prepared_is_used(schema: PostgresPlace) -> None:
    with schema.connected() as connection:
        connection.execute(f"CREATE SCHEMA {schema.schema}")
    new_store(schema).close()


@together(
    ("table", "right"), product(SECRET, ["SELECT ON {}", "SELECT (stream) ON {}", "UPDATE ON {}"])
)
def test_secrets_that_others_may_read_are_refused(
    postgres: Server, schema: PostgresPlace, table: str, right: str
) -> None:
    new_store(schema).close()
    columns = {"stream": "(number)", "answer": "(snapshot)"}
    granted = right.format(f"{schema.schema}.{table}").replace(
        "(stream)", columns.get(table, "(stream)")
    )
    with postgres.admin(postgres.database) as connection:
        connection.execute(f"GRANT {granted} TO PUBLIC".encode())
        with pytest.raises(StoreRefused, match="can be read or changed by PUBLIC") as caught:
            new_store(schema)
        revoke, _, _ = caught.value.tip.partition(";")
        connection.execute(revoke.encode())
    new_store(schema).close()


@pytest.mark.parametrize("right", ["INSERT", "UPDATE (value)", "DELETE", "TRUNCATE"])
def test_others_may_read_what_is_public_and_not_change_it(
    postgres: Server, schema: PostgresPlace, right: str
) -> None:
    new_store(schema).close()
    with postgres.admin(postgres.database) as connection:
        for table in ("release", "series", "step", "entry"):
            connection.execute(f"GRANT SELECT ON {schema.schema}.{table} TO PUBLIC".encode())
        new_store(schema).close()
        connection.execute(f"GRANT {right} ON {schema.schema}.release TO PUBLIC".encode())
        with pytest.raises(StoreRefused, match="can be read or changed by PUBLIC"):
            new_store(schema)


def test_a_reader_gets_the_view_and_nothing_else(postgres: Server, schema: PostgresPlace) -> None:
    new_store(schema).close()
    reader = f"reader{postgres.number()}"
    with postgres.admin(postgres.database) as connection:
        connection.execute(f"CREATE ROLE {reader}")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema.schema} TO {reader}")
        connection.execute(f"GRANT SELECT ON {schema.schema}.releases TO {reader}")
        new_store(schema).close()  # which is no reason to refuse it
        connection.execute(f"SET ROLE {reader}")
        connection.execute(f"SELECT * FROM {schema.schema}.releases")
        for table in schema.tables():
            with pytest.raises(schema.errors, match="permission denied"):
                connection.execute(f"SELECT * FROM {schema.schema}.{table}".encode())
