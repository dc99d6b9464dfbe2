"""``open_store``: from the address in a plan to a store."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ameles.core.address import WHERE_SECRETS_GO, may_have_secret, names_server
from ameles.core.exceptions import AmelesError, BadInput
from ameles.store.postgres.address import address_of
from ameles.store.postgres.store import PostgresStore
from ameles.store.sqlite.read_only import ReadOnlyStore, can_write
from ameles.store.sqlite.store import SqliteStore
from ameles.store.store import Store

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


def open_store(
    url: str,
    *,
    create: bool = True,
    patience: float = 10.0,
    reading: bool = False,
    migrating: bool = True,
) -> Store:
    """The store at a path such as ``flu.db``, or in a Postgres database such as
    ``postgresql://me@db.example/flu``.  If there is none and ``create`` is true, it makes a new
    one.

    ``patience`` is the number of seconds to wait for other writers before a refusal.  ``reading``
    says that nothing will be written: the store may then be on a read-only disk.  Without
    ``migrating``, a store of an older version stays what it is.
    """
    if refusal := address_refusal(url):
        raise refusal
    if in_postgres(url):
        return PostgresStore(url, create=create, patience=patience, migrating=migrating)
    kind = ReadOnlyStore if reading and not can_write(Path(url)) else SqliteStore
    return kind(Path(url), create=create, patience=patience, migrating=migrating)


def address_refusal(url: str) -> BadInput | None:
    """Why an address is none of a store: it is neither a path nor a database of Postgres.

    Of such an address only a scheme is repeated, since any other part may be a password.

    >>> print(address_refusal("mysql://db.example/flu"))
    error[input]: The address of a store cannot begin with 'mysql://'.
      try: url = "flu.db", or one that begins with postgresql://
    """
    if in_postgres(url):
        return None
    if may_have_secret(url) or names_server(url):
        scheme = None if may_have_secret(url) else _SCHEME.match(url)
        return BadInput(
            f"The address of a store cannot begin with '{scheme[1]}://'."
            if scheme
            else "The address of a store is neither a path nor an address of Postgres.",
            why="" if scheme else "it is not repeated here, because it may contain a password",
            tip='url = "flu.db", or one that begins with postgresql://'
            if scheme
            else f'url = "flu.db", or "postgresql://me@db.example/flu"; {WHERE_SECRETS_GO}',
        )
    if not url or "\0" in url or not _encodable(url):
        return BadInput("The address of a store must be a path.", tip='url = "flu.db"')
    return None


def exists(url: str) -> bool:
    """Whether there is a store, or anything else, at an address."""
    if refusal := address_refusal(url):
        raise refusal
    return PostgresStore.exists(url) if in_postgres(url) else os.path.exists(url)


def public_address(url: str) -> str:
    """The address of a store as messages may show it: without a password.

    >>> public_address("flu.db"), public_address("postgresql://me:secret@db.example/flu")
    ('flu.db', 'postgresql://me@db.example/flu')
    """
    if not in_postgres(url):
        return url if address_refusal(url) is None else "..."
    try:
        return address_of(url).where
    except AmelesError:  # nobody knows which part of it is the password
        return url.partition("://")[0] + "://..."


def in_postgres(url: str) -> bool:
    """Whether an address is that of a Postgres database."""
    scheme = _SCHEME.match(url)
    return scheme is not None and scheme[1].lower() in ("postgres", "postgresql")


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True
