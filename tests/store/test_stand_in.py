"""The stand-in for files, by which the engine's tests run on Postgres: a file in all that they do.

And the list of those tests: what opens a store is on it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, open_store
from tests.conftest import AT_LENGTH, BOTH, TESTS
from tests.postgres import Server
from tests.stand_in import PLACE, SERVER, StandIn, disconnect
from tests.store.stores import launch

# What need not: it runs no stream, or the demo's, is about SQLite's files, or has its own server.
OTHERS = {
    "engine": {
        *("arrivals", "bounding", "few_events", "plan", "sealed_search", "step_cost"),
        *("rules", "sinks_before", "broken_keys"),  # with files of SQLite
        *("sealed_coverage", "sealed_memory", "sealed_wiped"),  # about states that no store has
    },
    "cli": {"backup", "card", "demo", "guests", "help", "postgres", "read_only"},
}
OPENS = re.compile(r"open_store|worlds import|visits import|neighbours import|site: (Path|Site)")


@pytest.fixture
def file(postgres: Server, tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PLACE, StandIn)
        patched.setenv(SERVER, postgres.url())
        patched.setenv("PYTHONPATH", str(TESTS / "subprocesses"))
        yield tmp_path / "flu.db"
        disconnect()


def filled(path: Path) -> Store:
    store = open_store(str(path))
    with store.writing() as transaction:
        launch(transaction)
    return store


def streams(path: Path) -> int:
    with open_store(str(path), create=False) as store, store.reading() as transaction:
        return len(transaction.streams())


def set_position(path: Path, position: str) -> None:
    with open_store(str(path)) as store, store.writing() as transaction:
        transaction.set_position(transaction.streams()[0], position)


def position(path: Path) -> str | None:
    with open_store(str(path)) as store, store.reading() as transaction:
        return transaction.position(transaction.streams()[0])


def test_it_is_there_after_it_was_opened_and_not_before(file: Path) -> None:
    with pytest.raises(StoreRefused, match="There is no store"):
        open_store(str(file), create=False)
    filled(file).close()
    assert streams(file) == 1
    file.unlink()
    open_store(str(file)).close()
    assert streams(file) == 0


def test_what_a_killed_process_has_committed_is_there(file: Path) -> None:
    with filled(file):  # not closed yet
        assert streams(file) == 1


def test_copies_and_backups_are_of_their_own_moment(file: Path) -> None:
    filled(file).close()
    set_position(file, "row 1")
    backup, copy = file.read_bytes(), file.with_name("copy.db")
    shutil.copy2(file, copy)
    set_position(file, "row 2")
    set_position(copy, "row 3")
    assert (position(file), position(copy)) == ("row 2", "row 3")
    file.write_bytes(backup)
    assert position(file) == "row 1"
    assert b"row 2" not in file.read_bytes()
    set_position(file, "row 4")
    assert b"row 4" in file.read_bytes()  # what is stored can be searched for


def test_it_is_as_private_as_a_file_and_nothing_else_is_taken_for_it(file: Path) -> None:
    filled(file).close()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(StoreRefused, match="chmod 600"):
        open_store(str(file))
    file.chmod(0o600)
    file.write_bytes(b"something else")
    with pytest.raises(StoreRefused, match="another program"):
        open_store(str(file))


def test_processes_that_tests_start_find_the_same_store(file: Path) -> None:
    filled(file).close()
    program = "import sys, ameles.store as s; print(s.open_store(sys.argv[1]))"
    said = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("<PostgresStore 'postgresql://owner@")


@pytest.mark.parametrize("folder", BOTH)
def test_all_modules_that_open_a_store_run_on_both(folder: str) -> None:
    named = {*BOTH[folder], *AT_LENGTH[folder]}
    opening = {
        module.stem.removeprefix("test_")
        for module in (TESTS / folder).glob("test_*.py")
        if OPENS.search(module.read_text(encoding="utf-8"))
    }
    assert opening - OTHERS[folder] <= named
