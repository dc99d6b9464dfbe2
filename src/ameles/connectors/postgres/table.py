"""What a table of Postgres must be so that its rows can be events: looked at in each transaction.

Rows are only added, and each names the transaction that added it.  A trigger must keep rows from
being changed or removed: nobody could notice later that one had been there.  The server must be a
primary one: the snapshots of a replica do not say which transactions are still open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ameles.connectors.postgres.server import OLDEST, TableAddress
from ameles.connectors.postgres.snapshot import Snapshot
from ameles.connectors.source import SourceAway
from ameles.connectors.text.json_lines import keys
from ameles.connectors.text.lines import LONGEST
from ameles.connectors.typed_columns import IDS
from ameles.core.exceptions import AmelesError, PlanError
from ameles.measures.fields import identifier

STORED = 1 << 17  # the most bytes of a value that is no text, as the server keeps it
DEFAULT = "pg_current_xact_id()"
_BEFORE, _DELETE, _UPDATE, _TRUNCATE = 2, 8, 16, 32  # bits of pg_trigger.tgtype
_KINDS = {"p": "a partitioned table", "v": "a view", "m": "a view", "f": "a foreign table"}

_SERVER = (
    "SELECT pg_is_in_recovery(), current_setting('server_version_num')::int, "
    "current_setting('server_encoding')"
)
_PLACE = (
    "SELECT (SELECT system_identifier::text FROM pg_control_system()), "
    "(SELECT oid::text FROM pg_database WHERE datname = current_database()), "
    "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), pg_current_snapshot()::text, "
    "pg_current_wal_insert_lsn()::text, pg_backend_pid()"
)
_TABLE = (
    "SELECT c.oid::text, a.attnum::text, c.relkind::text, c.relpersistence::text, "
    "c.relhassubclass OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid), "
    "a.atttypid = 'xid8'::regtype, a.attnotnull, "
    "pg_get_expr(d.adbin, d.adrelid), (SELECT coalesce(bit_or(tgtype), 0) FROM pg_trigger "
    "WHERE tgrelid = c.oid AND NOT tgisinternal AND tgenabled IN ('O', 'A') "
    f"AND (tgtype & {_BEFORE}) <> 0 AND tgattr::text = '') "
    "FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = %s AND a.attnum > 0 "
    "AND NOT a.attisdropped LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum "
    "WHERE n.nspname = %s AND c.relname = %s"
)
_COLUMNS = (
    "SELECT attname, CASE WHEN typlen > 0 THEN 'fixed' WHEN typcategory = 'N' THEN 'decimal' "
    "WHEN typcategory = 'S' OR atttypid = 'json'::regtype THEN 'text' ELSE '' END "
    "FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
    "WHERE attrelid = %s::oid AND attnum > 0 AND NOT attisdropped"
)


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Which table of which server this is; another one may get the same name."""

    system: str
    database: str
    table: str
    timeline: str  # of the server's log: a new one begins when an older state goes on
    column: (
        str  # the number of the column with the transaction: one that is added again has another
    )


@dataclass(frozen=True, slots=True)
class TableLook:
    """A table at the moment of a transaction."""

    place: TableIdentity
    snapshot: Snapshot = field(repr=False)
    logged: str = field(repr=False)  # where the server's log ended after the snapshot
    backend: int
    line: str  # SQL: a row of ``t`` as a line of JSON; NULL if it is too long


def look(
    connection: Any, address: TableAddress, column: str, wanted: Mapping[str, str], paths: bool
) -> TableLook:
    """The table, in a transaction that has begun; refuses one whose rows cannot be counted.

    ``wanted`` has the columns of a plan; with ``paths``, dots in their names go into objects.
    """
    replica, version, encoding = connection.execute(_SERVER).fetchone()
    if replica or version < OLDEST or encoding != "UTF8":
        raise _server_refusal(address, replica=replica, encoding=encoding != "UTF8")
    system, database, timeline, snapshot, logged, backend = connection.execute(_PLACE).fetchone()
    found = connection.execute(_TABLE, (column, address.schema, address.table)).fetchone()
    if found is None:
        raise PlanError(
            f"There is no {address.shown[4:]}.",
            why=f"the schema {address.schema!r} has none of that name, spelt exactly so",
            tip="create the table, or table=SCHEMA.NAME in the address",
        )
    _check_table(address, column, *found[2:])
    types = dict(connection.execute(_COLUMNS, (found[0],)).fetchall())
    names = {keys(name)[0] if paths else name: kind for name, kind in wanted.items()}
    missing = [name for name in names if name not in types]
    if missing:
        raise PlanError(
            f"The table has no column {', '.join(repr(name[:64]) for name in missing)}.",
            why="the plan's columns are read by name",
            tip=f"columns among {', '.join(list(types)[:20])}",
        )
    return TableLook(
        TableIdentity(system, database, found[0], timeline, found[1]),
        Snapshot.of(snapshot),
        logged,
        backend,
        _line({name: (types[name], kind) for name, kind in names.items()}),
    )


def _check_table(
    address: TableAddress,
    column: str,
    kind: str,
    persistence: str,
    family: bool,
    is_xid: bool | None,
    not_null: bool | None,
    default: str | None,
    triggers: int,
) -> None:
    if kind != "r" or persistence != "p" or family:
        what = "an unlogged or temporary table" if persistence != "p" else "part of a family"
        raise PlanError(
            f"{_shown(address)} is {_KINDS.get(kind, what)}.",
            why="rows could go without a trace: by a crash, with a partition, or by a statement "
            "about a parent, which the triggers of a table do not see",
            tip="an ordinary table of its own"
            + (f"; if its last child is gone, ANALYZE {address.sql}" if family else ""),
        )
    if not (is_xid and not_null and default == DEFAULT):
        raise PlanError(
            f"{_shown(address)} does not say which transaction added a row.",
            why="without that, rows of a transaction that commits late would be missed, or "
            "counted twice",
            tip=_mended(address.sql, identifier(column), is_xid),
        )
    missing = [
        name
        for name, bit in {"UPDATE": _UPDATE, "DELETE": _DELETE, "TRUNCATE": _TRUNCATE}.items()
        if not triggers & bit
    ]
    if missing:
        raise PlanError(
            f"{_shown(address)} has no trigger before {' and '.join(missing)}.",
            why="rows that are removed or changed before they are read would not be noticed",
            tip=f"CREATE FUNCTION rows_stay() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE "
            f"EXCEPTION 'rows are only added'; END$$; CREATE TRIGGER rows_stay BEFORE "
            f"{' OR '.join(missing)} ON {address.sql} EXECUTE FUNCTION rows_stay()",
        )


def _mended(table: str, column: str, is_xid: bool | None) -> str:
    """SQL that makes the column fit: it is there, or is of another type, or is missing (None)."""
    if is_xid:
        return f"ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL, ALTER COLUMN {column} " + (
            f"SET DEFAULT {DEFAULT}; the rows that are there keep their numbers"
        )
    drop = "" if is_xid is None else f"DROP COLUMN {column}, "
    return (
        f"ALTER TABLE {table} {drop}ADD COLUMN {column} xid8 NOT NULL DEFAULT {DEFAULT}; CREATE "
        f"INDEX ON {table} ({column}); the rows that are there get the transaction that adds the "
        "column"
    )


def _server_refusal(address: TableAddress, *, replica: bool, encoding: bool) -> AmelesError:
    if replica:  # perhaps only until a failover is over
        return SourceAway(
            f"{address.where} is a replica.",
            why="its snapshots do not say which transactions are still open, so rows would be lost",
            tip="the address of the primary server, or target_session_attrs=primary in it",
        )
    what = "is not in UTF-8" if encoding else f"is older than Postgres {OLDEST // 10000}"
    return PlanError(f"The database {address.where} {what}.", tip="a newer database in UTF-8")


def _line(columns: Mapping[str, tuple[str, str]]) -> str:
    """SQL: a row as JSON, from the type and the kind of each column.

    One that is too long for a line is NULL, before it is put together.
    """
    short, chosen = ["true"], []
    for name, (sort, kind) in columns.items():
        value = f"t.{identifier(name)}"
        if sort == "text":
            short.append(f"coalesce(octet_length({value}::text), 0) <= {LONGEST}")
        elif sort != "fixed":
            short.append(f"coalesce(pg_column_size({value}), 0) <= {STORED}")
        # A number of JSON is read as a float, a text to its last digit; but 7 and 7.0 are one user.
        exact = sort == "decimal" and kind not in IDS.values()
        chosen.append(f"{value}::text AS {identifier(name)}" if exact else value)
    # a value of the type json keeps its newlines
    row = f"SELECT {', '.join(chosen)}"
    whole = f"(SELECT translate(row_to_json(r)::text, E'\\n\\r', '  ') FROM ({row}) AS r)"
    return f"CASE WHEN {' AND '.join(short)} THEN {whole} END"


def _shown(address: TableAddress) -> str:
    return address.shown[0].upper() + address.shown[1:]
