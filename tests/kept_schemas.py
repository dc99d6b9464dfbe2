"""Stores in Postgres that are emptied and used again: to make one takes longer than most tests.

A store that a test has left gets its tables emptied and waits under the name of a spare one; the
next that is asked for is a spare one with another name.  Only what is built as a new store is: a
test may have dropped a trigger, or granted a right.  What makes stores is tested with new ones.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

import psycopg

from ameles.store.postgres.migration import scripts
from ameles.store.postgres.store import PostgresStore
from tests.postgres import ADMIN, OWNER

Bare: TypeAlias = psycopg.Connection[tuple[Any, ...]]
SPARE = "spare_"
PRISTINE = "pristine"
# Tables, indexes, columns, triggers, constraints and functions, with their rights.
SHAPE = """
WITH mine AS (SELECT * FROM pg_class WHERE relnamespace = %(schema)s::regnamespace)
SELECT md5(string_agg(line, chr(10) ORDER BY line COLLATE "C")) FROM (
  SELECT concat_ws(' ', relname, relkind, coalesce(relacl, acldefault('r', relowner)))
    FROM mine
  UNION ALL SELECT concat_ws(' ', relname, attname, atttypid, attnotnull, atthasdef, attacl)
    FROM mine JOIN pg_attribute ON attrelid = mine.oid WHERE attnum > 0
  UNION ALL SELECT concat_ws(' ', relname, tgname, tgenabled, tgtype)
    FROM mine JOIN pg_trigger ON tgrelid = mine.oid WHERE NOT tgisinternal
  UNION ALL SELECT concat_ws(' ', relname, conname, contype, convalidated)
    FROM mine JOIN pg_constraint ON conrelid = mine.oid
  UNION ALL SELECT concat_ws(' ', proname, md5(prosrc), proowner, proacl)
    FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
  UNION ALL SELECT concat_ws(' ', nspowner, nspacl)
    FROM pg_namespace WHERE oid = %(schema)s::regnamespace
) AS lines (line)
"""
_kept: dict[tuple[int, str], Bare] = {}


def take(url: str, schema: str) -> bool:
    """Lets a spare store be this schema, if there is one and nothing has that name."""
    with suppress(
        psycopg.OperationalError
    ):  # the server may be away, which is what a test is about
        bare = _superuser(url)
        if bare.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone() != (None,):
            return False
        for (spare,) in bare.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (SPARE,)
        ).fetchall():
            with suppress(psycopg.Error):  # another process was first
                bare.execute(f"ALTER SCHEMA {spare} RENAME TO {schema}".encode())
                return True
    return False


def give_back(url: str, schema: str) -> None:
    """Empties a store that nobody uses any more, if it is still built as a new one is."""
    with suppress(psycopg.Error), (bare := _superuser(url)).transaction():
        bare.execute("SET LOCAL lock_timeout = '1s'")
        if _shape(bare, schema) != _shape_of_new(os.getpid(), url):
            return
        bare.execute("SET LOCAL session_replication_role = replica")  # no trigger keeps a row
        tables = bare.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
            (schema,),
        ).fetchall()
        emptied = [f"DELETE FROM {schema}.{name}" for (name,) in tables]
        version = f"INSERT INTO {schema}.meta (name, value) VALUES ('version', '{len(scripts())}')"
        bare.execute(
            "; ".join(
                [
                    *emptied,
                    version,
                    f"COMMENT ON SCHEMA {schema} IS NULL",
                    f"ALTER SCHEMA {schema} RENAME TO {SPARE}{schema}",
                ]
            ).encode()
        )


@cache
def _shape_of_new(_process: int, url: str) -> str:
    """The shape of a store that nothing was ever done to."""
    PostgresStore(f"{url}&options=-c%20search_path%3D{PRISTINE}").close()
    return _shape(_superuser(url), PRISTINE)


def _shape(bare: Bare, schema: str) -> str:
    row = bare.execute(SHAPE, {"schema": schema}).fetchone()
    assert row is not None
    return str(row[0])


def _superuser(url: str) -> Bare:
    """A connection that is kept, since tests make very many stores."""
    place = os.getpid(), url
    with suppress(KeyError, psycopg.OperationalError):
        _kept[place].execute("SELECT 1")
        return _kept[place]
    _kept[place] = psycopg.connect(url.replace(f"{OWNER}:", f"{ADMIN}:", 1), autocommit=True)
    return _kept[place]


def disconnect() -> None:
    """Closes what this process has kept."""
    for (process, _), bare in _kept.items():
        if process == os.getpid():
            bare.close()
    _kept.clear()
    _shape_of_new.cache_clear()
