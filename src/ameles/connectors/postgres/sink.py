"""A table of Postgres that gets each release once.

A release has a key: the launch of its stream, its step, its name and its key.  A row that is sent
again is found by it, and must be the same.  The table itself says how far it has come, so a table
that was restored from an older backup gets what it lacks, and one that has more than the store
shows that the store is an old one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

from ameles.connectors.postgres.server import TableAddress, begin
from ameles.connectors.remote_sink import OutgoingBatch, RemoteSink, Undelivered
from ameles.connectors.sink import Row, SinkRequest
from ameles.connectors.source import SourceAway
from ameles.connectors.step_batches import step_batches
from ameles.core.exceptions import PlanError
from ameles.core.release import COLUMNS
from ameles.measures.fields import identifier
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import refusal

EXAMPLE = "postgresql://writer@localhost/clinic?table=releases"
TYPES = {
    "launch": "uuid",
    **dict.fromkeys(("stream", "release", "key", "label", "mechanism"), "text"),
    **dict.fromkeys(("step", "entry"), "bigint"),
    **dict.fromkeys(("start", "end"), "timestamp with time zone"),
    **dict.fromkeys(("value", "low", "high"), "numeric"),
}
ORDER = ("launch", *COLUMNS)
_MISSING = ("value", "low", "high")  # may be NULL
_SAME_KEY = 't.step = r.step AND t.release = r.release AND t."key" = r."key"'
_FOUND = (
    "SELECT attname, atttypid::regtype::text, relkind::text FROM pg_attribute "
    "JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = "
    "(SELECT oid FROM pg_namespace WHERE nspname = %s) AND relname = %s AND attnum > 0 "
    "AND NOT attisdropped"
)


def create_sql(table: str) -> str:
    """SQL that makes the table, unless there is one."""
    columns = ", ".join(
        f"{identifier(name)} {TYPES[name]}{'' if name in _MISSING else ' NOT NULL'}"
        for name in ORDER
    )
    key = 'launch, step, release, "key"'
    return f"CREATE TABLE IF NOT EXISTS {table} ({columns}, PRIMARY KEY ({key}))"


class PostgresSink(RemoteSink):
    """A table with all releases of a stream, beside those of others."""

    settings: ClassVar[Mapping[str, Any]] = {"connection": str}

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        file = request.settings.get("connection")
        address = TableAddress.of(
            request.target, EXAMPLE, None if file is None else request.base / file
        )
        return cls(request.name, address, identity=request.identity)

    @classmethod
    def refusal(cls, target: str, settings: Mapping[str, str]) -> PlanError | None:
        try:
            TableAddress.of(target, EXAMPLE)
        except PlanError as problem:
            return problem
        return None

    @classmethod
    def describe(cls, target: str) -> str:
        return TableAddress.of(target, EXAMPLE).shown

    def __init__(self, name: str, address: TableAddress, *, identity: str) -> None:
        self.name = name
        self.address = address
        self._identity = identity
        self._wire: Any = None  # a connection that has sent before

    def by(self, url: str) -> Self:
        """The same table, by another address of its database."""
        return type(self)(self.name, replace(self.address, url=url), identity=self._identity)

    def reached(self) -> int:
        """It is asked by another thread than the one that sends, and lets its connection go."""
        with closing(type(self)(self.name, self.address, identity=self._identity)) as other:
            return other._has()

    def _has(self) -> int:
        with self._transaction() as connection:
            if not self._is_there(connection):
                return 0
            asked = f"SELECT coalesce(max(step), 0) FROM {self.address.sql} WHERE launch = %s"
            ((step,),) = connection.execute(asked, (self._identity,)).fetchall()
            return int(step)

    def first_needed(self, sent: int) -> int:
        has = self._has()
        return sent + 1 if has >= sent else max(1, has)  # the last step may be there in part

    def batches(self, rows: Iterable[Row], sent: int) -> Iterator[OutgoingBatch]:
        return step_batches(rows)

    def send(self, batch: OutgoingBatch) -> None:
        rows = [dict(zip(COLUMNS, row, strict=True)) for _, row in json.loads(batch.body)]
        given = json.dumps(rows, ensure_ascii=False)
        columns = ", ".join(map(identifier, COLUMNS))
        kinds = ", ".join(f"{identifier(name)} {TYPES[name]}" for name in COLUMNS)
        records = f"jsonb_to_recordset(%s::jsonb) AS r ({kinds})"
        with self._transaction() as connection:
            if not self._is_there(connection):
                connection.execute(create_sql(self.address.sql))
            added = connection.execute(
                f"INSERT INTO {self.address.sql} (launch, {columns}) SELECT %s, {columns} "
                f"FROM {records} WHERE NOT EXISTS (SELECT FROM {self.address.sql} AS t WHERE "
                f"t.launch = %s AND {_SAME_KEY}) ON CONFLICT DO NOTHING",
                (self._identity, given, self._identity),
            ).rowcount
            if added != len(rows):
                self._check_same(connection, records, given, len(rows))
            connection.execute("COMMIT")

    def abort(self) -> None:
        wire = self._wire
        if wire is not None:
            with suppress(driver().Error, OSError):
                wire.cancel()

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None

    def _is_there(self, connection: Any) -> bool:
        """Whether there is a table; refuses one of something else."""
        found = connection.execute(_FOUND, (self.address.schema, self.address.table)).fetchall()
        columns = {(name, kind) for name, kind, _ in found}
        if found and (columns != set(TYPES.items()) or found[0][2] != "r"):
            raise PlanError(
                f"{self.address.shown[0].upper()}{self.address.shown[1:]} is not a table of "
                "releases.",
                why="its columns are others, and nothing is written into them",
                tip="another name: the table is made if there is none",
            )
        return bool(found)

    def _check_same(self, connection: Any, records: str, given: str, many: int) -> None:
        """Refuses a table that has other values under the keys of these rows."""
        mine, theirs = (", ".join(f"{one}.{identifier(name)}" for name in COLUMNS) for one in "rt")
        ((same,),) = connection.execute(
            f"SELECT count(*) FROM {records} JOIN {self.address.sql} AS t ON t.launch = %s "
            f"AND {_SAME_KEY} AND ({mine}) IS NOT DISTINCT FROM ({theirs})",
            (given, self._identity),
        ).fetchall()
        if same != many:
            raise self._undelivered("it has other values for the same steps", final=True)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A durable transaction, on the last connection if that still works."""
        try:
            self._begin()
            yield self._wire
        except SourceAway as problem:
            raise self._undelivered(problem.why) from None
        except driver().Error as problem:
            raise self._undelivered(refusal(problem, self.address.where).why) from None
        finally:
            self._roll_back()

    def _begin(self) -> None:
        if self._wire is not None:
            try:
                begin(self._wire, "")
            except driver().Error:  # it ended while nobody used it
                self.close()
        if self._wire is None:
            self._wire = self.address.connect()
            begin(self._wire, "")
        self._wire.execute("SELECT set_config('synchronous_commit', 'on', true)")

    def _roll_back(self) -> None:
        """Undoes what was not committed; where nothing is open, the server would log a warning."""
        try:
            idle = driver().pq.TransactionStatus.IDLE
            if self._wire is not None and self._wire.info.transaction_status != idle:
                self._wire.execute("ROLLBACK")
        except driver().Error:
            self.close()

    def _undelivered(self, why: str, *, final: bool = False) -> Undelivered:
        return Undelivered(
            f"The sink {self.name} {'gets nothing more' if final else 'cannot be written'}.",
            why=why,
            tip="put the table right, or give it another name in the plan: it gets all releases"
            if final
            else "fix that; the releases are in the store, and are sent again in their order",
            final=final,
        )
