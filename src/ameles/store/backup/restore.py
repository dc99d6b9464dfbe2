"""Restoring a backup: all of it or nothing, and never in the place of a store that has more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing

from ameles.core.exceptions import StoreRefused
from ameles.store.backup.backup import Backup
from ameles.store.opening import exists, open_store, public_address
from ameles.store.store import Store


def restore(
    backup: Backup,
    url: str,
    *,
    check: Callable[[Backup], None] = lambda backup: None,
    dry_run: bool = False,
    patience: float = 10.0,
) -> None:
    """Puts a backup in the place of the store at an address, or where no store is.

    All its streams are locked meanwhile, and the change is one transaction.  ``check`` refuses what
    only the sinks can show; it is called before anything changes.  ``dry_run`` changes nothing.
    """
    check(backup)
    where, there = public_address(url), exists(url)
    if dry_run and not there:
        return
    with closing(_opened(url, where, patience)) as store, ExitStack() as locks:
        for name in _names(store, backup):
            locks.enter_context(store.holding(name))
        if dry_run:
            with store.reading() as target, backup.store.reading() as source:
                target.check_replaceable(source, where)
            return
        with store.writing() as target, backup.store.reading() as source:
            target.check_replaceable(source, where)
            target.replace_all(source)
        store.check()


def _names(store: Store, backup: Backup) -> list[str]:
    """The streams of both, in one order for everybody: two restores cannot wait for each other."""
    with store.reading() as transaction:
        streams = (*transaction.streams(), *backup.streams)
    return sorted({stream.name for stream in streams})


def _opened(url: str, where: str, patience: float) -> Store:
    try:
        return open_store(url, patience=patience)
    except StoreRefused as problem:
        if not exists(url):
            raise
        refused = problem
    raise StoreRefused(
        refused.what,
        why=f"{refused.why}; what it has published cannot be compared with the backup",
        tip=f"{refused.tip}; or move '{where}' away, with its -wal and -shm, and restore again",
    )
