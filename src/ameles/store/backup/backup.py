"""Writing a backup of a store, while others use the store, and reading one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.store.backup import container, own_files
from ameles.store.backup.container import About
from ameles.store.opening import in_postgres, open_store
from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.sqlite import whole_tables
from ameles.store.sqlite.store import SqliteStore
from ameles.store.store import Store


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A stream in a backup."""

    stream: str
    released: int  # its last released step


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """An opened backup: its content as a store, when it was made and of what."""

    store: Store
    made: datetime
    database: str
    streams: tuple[StreamRecord, ...]


def write_backup(
    url: str, file: Path, *, replace: bool = False, patience: float = 10.0
) -> tuple[BackedUp, ...]:
    """Writes a backup of the store at an address; returns the streams in it.

    It is of one moment, and others read and write the store meanwhile.  It is read again and
    checked before it gets its name.
    """
    made, database = datetime.now(UTC), "postgres" if in_postgres(url) else "sqlite"
    about = About(made=microseconds(made), database=database)
    if replace:
        container.check_replaced(file)
    with told(file), own_files.new_file(file, replace=replace) as fresh:
        with closing(
            open_store(url, create=False, patience=patience, reading=True, migrating=False)
        ) as store:
            store.copy_into(fresh)
        streams = _streams(fresh)
        container.seal(fresh, about)
        container.unseal(fresh)
    return streams


def _streams(path: Path) -> tuple[BackedUp, ...]:
    """The streams in a copy of a store whose tables fit together."""
    with closing(whole_tables.raw(path)) as copy:
        for question in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
            if copy.execute(question).fetchall() not in ([], [("ok",)]):
                raise StoreRefused(
                    "The store is damaged: its copy contradicts itself, and was removed.",
                    tip="ameles doctor; and an earlier backup",
                )
        rows = copy.execute("SELECT name, released FROM stream ORDER BY number").fetchall()
    return tuple(BackedUp(name, released) for name, released in rows)


@contextmanager
def opened_backup(file: Path, *, work: Path) -> Iterator[Backup]:
    """The content of a backup in a store of its own, checked and of the newest version.

    That store is the file ``work``, which is removed at the end.
    """
    with ExitStack() as resources:
        with told(work):
            path, handle = resources.enter_context(own_files.own_file(work))
            about = container.unseal(file, into=handle)
        store = resources.enter_context(closing(_checked(path, file)))
        with store.reading() as transaction:
            streams = transaction.streams()
        yield Backup(store=store, made=moment(about.made), database=about.database, streams=streams)


def _checked(path: Path, file: Path) -> Store:
    """The store in a copy; its tables must fit together before and after a migration."""
    try:
        store = SqliteStore(path, create=False)
    except StoreRefused as problem:
        raise _unusable(file, problem) from None
    try:
        store.check()
    except StoreRefused as problem:
        store.close()
        raise _unusable(file, problem) from None
    return store


def _unusable(file: Path, problem: StoreRefused) -> StoreRefused:
    newer = problem.tip == "update ameles"
    return StoreRefused(
        f"The backup '{file}' cannot be used.",
        why=problem.why,
        tip=problem.tip if newer else "another backup",
    )


@contextmanager
def told(file: Path) -> Iterator[None]:
    """Turns an error of the operating system into a refusal about the file that is written."""
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        if isinstance(problem, AmelesError):
            raise
        number = getattr(problem, "errno", None)
        raise AmelesError(
            f"The file '{file}' cannot be written.",
            why=os.strerror(number).lower() if number else "the disk refuses it",
            tip="a folder of your own, on a disk with space; then run again",
        ) from None
