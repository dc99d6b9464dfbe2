"""Migrations of a store in Postgres: the same numbers and the same rules as in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from ameles.core.exceptions import StoreRefused
from ameles.store import migration
from ameles.store.postgres.advisory_locks import key
from ameles.store.postgres.connection import Wire
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import refusal

SECRET = (
    *("stream", "position", "pending", "state", "seen", "user_records"),
    *("answer", "token", "batch", "arrived"),
)


def scripts() -> tuple[str, ...]:
    """The migrations in order: the first makes version 1."""
    return migration.scripts("migrations/postgres")


def version_of(wire: Wire, schema: str) -> int:
    """The version of a schema; 0 if it is empty or absent, -1 if it is not a store of Ameles."""
    names = {
        name
        for (name,) in wire.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
            "WHERE nspname = %s",
            (schema,),
        )
    }
    if not names:
        return 0
    if "meta" not in names:
        return -1
    try:
        row = wire.execute(f"SELECT value FROM \"{schema}\".meta WHERE name = 'version'").fetchone()
    except (driver().errors.UndefinedColumn, driver().errors.UndefinedFunction):
        return -1  # another program's
    return int(row[0]) if row and str(row[0]).isdecimal() else -1


def migrate(
    wire: Wire,
    schema: str,
    where: str,
    *,
    create: bool = True,
    migrations: Sequence[str] | None = None,
) -> None:
    """Brings the schema to the newest version, if it is older."""
    try:
        _migrate(wire, schema, where, create, scripts() if migrations is None else migrations)
    except driver().Error as problem:
        raise refusal(problem, where) from None


def _migrate(wire: Wire, schema: str, where: str, create: bool, steps: Sequence[str]) -> None:
    version = version_of(wire, schema)
    migration.check(version, len(steps), where)
    if version == len(steps):
        return
    if version == 0 and not create:
        raise StoreRefused(
            f"There is no store at '{where}'.", tip="ameles run, which creates it; or its address"
        )
    wire.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
    try:
        wire.execute("SELECT pg_advisory_xact_lock(%s)", (key(schema),))
        # Another process may have been here first.
        version = version_of(wire, schema)
        migration.check(version, len(steps), where)
        if version:
            wire.execute("LOCK TABLE meta IN ACCESS EXCLUSIVE MODE")  # no reader, no writer
        elif not wire.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone()[0]:
            wire.execute(f'CREATE SCHEMA "{schema}"')
        for script in steps[version:]:
            wire.execute(script)
        wire.execute(
            "INSERT INTO meta (name, value) VALUES ('version', %s) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(len(steps)),),
        )
        wire.execute("COMMIT")
    except BaseException:
        if not wire.broken:
            wire.execute("ROLLBACK")
        raise


def check_private(wire: Wire, schema: str, where: str) -> None:
    """Refuses a store that other users of the database may read or change."""
    readers = wire.execute(
        "SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END FROM ("
        "SELECT relname, relowner, (aclexplode(relacl)).* FROM pg_class "
        "WHERE relnamespace = %(schema)s::regnamespace UNION "
        "SELECT relname, relowner, (aclexplode(attacl)).* FROM pg_class "
        "JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE relnamespace = %(schema)s::regnamespace"
        ") AS rights WHERE grantee <> relowner "
        "AND (relname = ANY(%(secret)s) OR privilege_type <> 'SELECT') ORDER BY 1",
        {"schema": f'"{schema}"', "secret": list(SECRET)},
    ).fetchall()
    if readers:
        others = ", ".join(name for (name,) in readers)
        raise StoreRefused(
            f"The store '{where}' can be read or changed by {others}.",
            why="it has secrets, such as exact counts of the open step, and must not be changed",
            tip=f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {others}; "
            f"GRANT SELECT ON {schema}.releases is enough for readers",
        )
