"""The address of a store in Postgres: the part that may be shown, and its schema.

    postgresql://me@db.example/flu                                    the schema ameles
    postgresql://me@db.example/flu?options=-c%20search_path%3Dnorth   the schema north

Passwords belong in ``~/.pgpass`` or ``PGPASSWORD``; a password in the address is never shown.

>>> address_of("postgresql://me:secret@db.example:5433/flu").where
'postgresql://me@db.example:5433/flu'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ameles.core.exceptions import BadInput
from ameles.store.postgres.driver import driver

SCHEMA = "ameles"
EXAMPLE = 'url = "postgresql://me@localhost/flu"'
_SEARCH_PATH = re.compile(r"search_path\s*=\s*(\S*)")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a store; ``where`` is the part that messages show."""

    url: str = field(repr=False)
    where: str
    schema: str
    named: bool  # whether the address gives its connections a name of its own


def address_of(url: str) -> Address:
    """Parses an address."""
    url = re.sub(r"^postgres(ql)?://", "postgresql://", url, flags=re.IGNORECASE)
    psycopg = driver()
    try:
        given: dict[str, str] = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise _unreadable() from None
    host, port, database = (str(given.get(name) or "") for name in ("host", "port", "dbname"))
    # If a password has an @ or a slash, the rest of it would be taken for a host and shown; and a
    # host could be "db password=..." .
    if re.search(r"[@=\s]", host + database) or re.search(r"[^\d,]", port):
        raise _unreadable()
    schema = _schema(given.get("options") or "")
    user = f"{given['user']}@" if given.get("user") else ""
    place = f"{user}{host}{f':{port}' if port else ''}/{database}"
    suffix = "" if schema == SCHEMA else f", schema {schema}"
    named = "application_name" in given
    return Address(url, f"postgresql://{place}{suffix}", schema, named)


def _schema(options: str) -> str:
    match = _SEARCH_PATH.search(options)
    if match is None:
        return SCHEMA
    if not _NAME.fullmatch(match[1]) or match[1].startswith("pg_"):
        raise BadInput(
            "The search_path in the address of a store must be one schema, in small letters.",
            why="a store is in one schema, by itself",
            tip="options=-c%20search_path%3Dameles",
        )
    return match[1]


def _unreadable() -> BadInput:
    # The message does not repeat the address: any part of it may be the password.
    return BadInput(
        "The address of a store in Postgres cannot be read.",
        why="characters such as @, /, : and % in a user or a password must be written as %40, %2F, "
        "%3A and %25",
        tip=EXAMPLE,
    )
