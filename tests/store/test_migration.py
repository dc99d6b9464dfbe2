"""Migrations: whole or not at all, older to newer, never the other way."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import Pure
from ameles.core.rules import FIRST
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.store import Store, open_store
from ameles.store.batches import StoredBatch
from ameles.store.gaps import Gap
from ameles.store.migration import migrate, scripts, statements, version_of
from ameles.store.retirements import Retirement
from tests.store.stores import IDENTITY, MARCH, SALT, launch, new_store, visitors
from tests.warm_processes import run

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
SECOND = (
    "ALTER TABLE stream ADD COLUMN note TEXT NOT NULL DEFAULT 'none';\n"
    "CREATE TABLE more (name TEXT NOT NULL PRIMARY KEY) STRICT;\n"
)


def with_version(version: int, folder: Path) -> Path:
    """A store as the first program of this version wrote it."""
    path = folder / "flu.db"
    path.touch(mode=0o600)
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / f"version_{version}.sql").read_text(encoding="utf-8"))
    connection.close()
    return path


@pytest.mark.parametrize("version", range(1, len(scripts()) + 1))
def test_a_store_of_every_version_is_read(tmp_path: Path, version: int) -> None:
    with open_store(str(with_version(version, tmp_path))) as store:
        holds_what_was_written(store)
        if version >= 4:
            holds_what_was_asked(store, version)
        if version >= 6:
            holds_what_was_served(store)
        if version >= 7:
            holds_what_was_lost(store)
        if version >= 8:
            holds_what_users_added(store)


def holds_what_was_written(store: Store) -> None:
    """What the fixtures of all versions have in them, in every database."""
    store.check()
    assert store.genuine
    with store.writing() as transaction:
        ledger = visitors(transaction)
        assert (ledger.cap, ledger.spent) == (Pure("3/2"), Pure("1/2"))
        stream = transaction.stream("flu")
        assert stream is not None
        assert (stream.identity, stream.salt, stream.launched) == (IDENTITY, SALT, MARCH)
        assert (stream.released, stream.scheduled) == (2, 3)
        assert stream.rules == FIRST  # it was launched before there were others
        assert transaction.position(stream) == "row 12"
        assert transaction.pending(stream) == b"waiting"
        assert transaction.sent(stream, "a.csv") == 1
        state = transaction.state(stream, "fever")
        assert state is not None
        assert state.history == b"earlier"
        rows = list(transaction.release_rows(stream))
        assert [(row[2], row[3], row[6], row[9]) for row in rows] == [
            ("north", 1, 10, "above"),
            ("south", 1, None, ""),
            ("north", 2, 12, ""),
            ("south", 2, 2.5, ""),
        ]
        assert transaction.seen(stream, 0, [bytes(16)]).steps.tolist() == [4]
        # and it goes on
        transaction.advance(stream, released=3)


def holds_what_was_asked(store: Store, version: int) -> None:
    """From version 4 on the fixtures also have two budgets and two questions, one of them
    answered; from version 5 on one of the budgets was renewed."""
    recipe = SimpleOneCounter(epsilon="1/8", horizon=1)
    with store.writing() as transaction:
        ledger = transaction.ledger("guests")
        assert ledger is not None
        raised = Pure("3/4" if version >= 5 else "1/2")  # by a renewal
        assert [(one.name, one.cap, one.spent) for one in ledger.children] == [
            ("research", None, Pure("1/4")),
            ("study-a", raised, Pure("1/4")),
        ]
        first, second = transaction.questions("guests")
        assert (first.question, first.label, first.answer) == ("count", "2026-03", '{"value": 12}')
        assert (first.asked, first.answered, first.snapshot) == (MARCH, MARCH, b"")
        assert (second.question, second.label, second.answer) == ("sum", None, None)
        assert ledger.resume(recipe, second.snapshot).t == 0
        assert transaction.set_answer("guests", 2, "13") == "13"


def holds_what_was_served(store: Store) -> None:
    """From version 6 on the fixtures also have two tokens, a batch and texts, and their stream was
    retired."""
    with store.reading() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        site, press = transaction.tokens()
        assert transaction.token(sha256(b"a token").digest()) == site
        assert (site.scope, site.revoked, press.scope, press.revoked) == (
            "ingest",
            None,
            "read",
            MARCH,
        )
        assert transaction.counted_batches(stream, 3, [bytes(16)]) == {bytes(16)}
        assert transaction.open_step(replace(stream, released=0)) == 3
        (waiting,) = transaction.waiting_batches(stream, after=0, last_step=3, most=9)
        assert waiting == StoredBatch(1, 3, "json", b"{}\n")
        assert transaction.descriptions(stream) == {"plan": '"the plan in words"'}
        assert transaction.retirement(stream) == Retirement(MARCH, "the season is over")


def holds_what_was_lost(store: Store) -> None:
    """From version 7 on the fixtures also have a gap."""
    with store.reading() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        assert transaction.gaps(stream) == (Gap(MARCH, "partition 3", "kept for a day only"),)


def holds_what_users_added(store: Store) -> None:
    """From version 8 on the fixtures also have the records of a user."""
    with store.reading() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        assert transaction.user_records(stream, 2, 0, [bytes(16)]) == {0: b"keys"}


def test_every_version_has_its_fixture() -> None:
    names = {f"version_{number}.sql" for number in range(1, len(scripts()) + 1)}
    for folder in (FIXTURES, FIXTURES / "postgres"):
        assert {file.name for file in folder.glob("*.sql")} == names


def test_an_older_store_is_migrated_and_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_store(tmp_path) as store, store.writing() as transaction:
        launch(transaction)
    newest = (*scripts(), SECOND)
    monkeypatch.setattr("ameles.store.migration.scripts", lambda *_: newest)
    with new_store(tmp_path) as store, store.reading() as transaction:
        assert [stream.name for stream in transaction.streams()] == ["flu"]
    connection = sqlite3.connect(tmp_path / "flu.db")
    assert version_of(connection) == len(newest)
    assert connection.execute("SELECT note FROM stream").fetchall() == [("none",)]
    connection.close()


def test_a_newer_store_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = (*scripts(), SECOND)
    with monkeypatch.context() as newer_program:
        newer_program.setattr("ameles.store.migration.scripts", lambda *_: newest)
        new_store(tmp_path).close()
    before = (tmp_path / "flu.db").read_bytes()
    with pytest.raises(
        StoreRefused, match=f"has version {len(newest)}; this program reads up to version"
    ):
        new_store(tmp_path)
    assert (tmp_path / "flu.db").read_bytes() == before


def test_a_program_of_version_3_refuses_a_store_of_version_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_store(tmp_path).close()
    older = scripts()[:3]
    monkeypatch.setattr("ameles.store.migration.scripts", lambda *_: older)
    with pytest.raises(StoreRefused, match="this program reads up to version 3") as caught:
        new_store(tmp_path)
    assert caught.value.tip == "update ameles"


def test_a_migration_that_fails_leaves_the_old_version_whole(tmp_path: Path) -> None:
    new_store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "flu.db", isolation_level=None)
    before = schema(connection)
    broken = (*scripts(), SECOND, "CREATE TABLE stream (x);\n")
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(connection, "flu.db", broken)
    assert schema(connection) == before
    assert version_of(connection) == len(scripts())
    connection.close()


def schema(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


def test_a_crash_inside_the_first_migration_leaves_an_empty_file(tmp_path: Path) -> None:
    program = (
        "import os, sys, sqlite3\n"
        "from ameles.store import migration, open_store\n"
        "real = migration.statements\n"
        "def dying(script):\n"
        "    for number, statement in enumerate(real(script)):\n"
        "        if number == 5:\n"
        "            os._exit(9)\n"
        "        yield statement\n"
        "migration.statements = dying\n"
        "open_store(sys.argv[1])\n"
    )
    path = tmp_path / "flu.db"
    ended = run("-c", program, str(path))
    assert ended.returncode == 9
    with new_store(tmp_path) as store, store.writing() as transaction:
        launch(transaction)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE customers (name)",
        "CREATE TABLE meta (name, value)",
        "CREATE TABLE meta AS SELECT 'version' AS name, 'many' AS value",
    ],
)
def test_a_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "flu.db"
    path.touch(mode=0o600)
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    before = schema(connection)
    with pytest.raises(StoreRefused, match="another program"):
        open_store(str(path))
    assert schema(connection) == before
    connection.close()


def test_a_trigger_is_one_statement() -> None:
    script = (
        "CREATE TABLE a (x);\n"
        "CREATE TRIGGER t BEFORE DELETE ON a\n"
        "BEGIN SELECT RAISE(ABORT, 'a; b'); SELECT 1; END;\n"
        "-- done\n"
    )
    assert [each.split()[1] for each in statements(script)] == ["TABLE", "TRIGGER"]


def test_no_statement_of_a_migration_is_left_out() -> None:
    for script in scripts():
        code = "\n".join(line.partition("--")[0] for line in script.splitlines())
        assert "".join(statements(script)).count(";") == script.count(";")
        assert code.strip().endswith(";")


def test_the_wheel_has_the_migrations(tmp_path: Path) -> None:
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder\n"
        "print(*WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['standard']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", build, str(ROOT), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    with zipfile.ZipFile(ended.stdout.split()[-1]) as wheel:
        names = {name for name in wheel.namelist() if name.endswith(".sql")}
    assert names == {
        f"ameles/store/{folder}/{number:04}.sql"
        for folder in ("migrations", "migrations/postgres")
        for number in range(1, len(scripts()) + 1)
    }
