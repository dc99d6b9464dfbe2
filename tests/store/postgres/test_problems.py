"""Failures of Postgres: as the real server raises them, as sentences, without its words."""

from __future__ import annotations

import psycopg
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, StreamRecord, open_store
from ameles.store.postgres.problems import connection_refusal, is_double, refusal
from tests.postgres import ADMIN, Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, new_store

CODES = {
    "22003": "cannot keep this",
    "22021": "cannot keep this",
    "23514": "refused a change",
    "25006": "replica",
    "40001": "at the same moment",
    "40P01": "at the same moment",
    "42501": "lacks a privilege",
    "42P01": "is not a store of Ameles",
    "53100": "disk of the server is full",
    "53200": "not have enough memory",
    "53300": "no connection left",
    "54000": "larger than one value in the database",
    "55P03": "is locked",
    "57014": "cancelled",
    "57P01": "cannot be reached",
    "58030": "disk of the server reported an error",
    "XX001": "is damaged",
    "XX002": "is damaged",
    "42601": "does not know",
    "XX000": "does not know",
}


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_its_sentence(postgres: Server, code: str) -> None:
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'CANARY' USING ERRCODE = '{code}'; END $$"
    with postgres.admin() as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(raising)
    told = refusal(caught.value, "flu")
    assert CODES[code] in str(told)
    assert told.what.startswith("The store 'flu' ")
    assert told.why
    assert "CANARY" not in str(told)


def write_two(store: Store, stream: StreamRecord) -> None:
    with store.writing() as transaction:
        transaction.set_position(stream, "row 2")
        transaction.set_pending(stream, b"secret")


def test_a_full_disk_is_refused_and_what_was_there_stays(schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.set_position(stream, "row 1")
        with schema.connected() as connection:
            connection.execute(
                "CREATE FUNCTION full_disk() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN "
                "RAISE EXCEPTION 'CANARY' USING ERRCODE = 'disk_full'; END $$"
            )
            connection.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON pending "
                "FOR EACH ROW EXECUTE FUNCTION full_disk()"
            )
        with pytest.raises(StoreRefused, match="is full") as caught:
            write_two(store, stream)
        assert "CANARY" not in str(caught.value)
        with store.writing() as transaction:
            assert transaction.position(stream) == "row 1"
            transaction.set_position(stream, "row 3")


def test_a_wrong_password_and_a_wrong_name_are_told_apart(postgres: Server) -> None:
    right = postgres.url()
    for url, words in (
        (right.replace("pass", "wrong"), "did not accept this user"),
        (postgres.url(user="nobody"), "did not accept this user"),
        (postgres.url("none"), "no database of this name"),
        (right.replace("host=", "host=%2Fnowhere"), "no server answers there"),
    ):
        with pytest.raises(StoreRefused, match=words) as caught:
            open_store(url)
        assert "rong" not in str(caught.value)
        assert "w%25rd" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_a_user_who_may_not_create_a_schema_is_told_so(postgres: Server) -> None:
    with postgres.admin() as connection:
        connection.execute("CREATE DATABASE closed")
    with pytest.raises(StoreRefused, match=r"lacks a privilege(?s:.*)GRANT CREATE ON DATABASE"):
        open_store(postgres.url("closed"))
    open_store(postgres.url("closed", user=ADMIN)).close()
    # the store of another user
    with pytest.raises(StoreRefused, match="lacks a privilege"):
        open_store(postgres.url("closed"))


def test_a_replica_is_refused(postgres: Server, schema: PostgresPlace) -> None:
    new_store(schema).close()
    with postgres.replica() as replica:
        with replica.admin(postgres.database) as connection:
            count = connection.execute(f"SELECT count(*) FROM {schema.schema}.meta").fetchone()
            assert count == (1,)
        with pytest.raises(StoreRefused, match="is a replica"):
            open_store(replica.url(schema=schema.schema))


def test_a_database_that_was_made_read_only_is_read_and_not_written(postgres: Server) -> None:
    database = postgres.new_database()
    open_store(postgres.url(database)).close()
    with postgres.admin() as connection:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with open_store(postgres.url(database)) as store:
        with store.reading() as transaction:
            assert transaction.streams() == ()
        with pytest.raises(StoreRefused, match="made read-only"), store.writing():
            pass


def test_words_before_there_is_a_connection() -> None:
    for said, words in (
        ("FATAL:  the database system is starting up", "starting or stopping"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ('FATAL:  no pg_hba.conf entry for host "CANARY"', "did not accept"),
        ("SSL error: certificate verify failed", "its certificate does not match"),
        ("server closed the connection unexpectedly", "no server answers"),
        ("something in another language", "no server answers"),
    ):
        told = str(connection_refusal(psycopg.OperationalError(said), "flu"))
        assert words in told
        assert "CANARY" not in told


def test_failures_of_the_driver_are_sentences_too() -> None:
    assert "cannot keep" in str(refusal(psycopg.DataError("CANARY"), "flu"))
    assert "cannot be reached" in str(refusal(psycopg.OperationalError("CANARY"), "flu"))
    assert "does not know" in str(refusal(psycopg.ProgrammingError("CANARY"), "flu"))
    assert not is_double(psycopg.IntegrityError("CANARY"))
