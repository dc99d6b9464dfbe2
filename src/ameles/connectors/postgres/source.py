"""A table of Postgres: a row is an event, and its columns are the columns.

A position is a snapshot: it says which transactions had ended.  A reading takes the rows of those
that ended between two snapshots, so each row counts once, however long its transaction was open
and in which order others committed (``snapshot.py``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self
from urllib.parse import SplitResult

from ameles.connectors.message_source import MessagePiece, MessageSource
from ameles.connectors.postgres.server import SCHEMES, TableAddress, check_public
from ameles.connectors.postgres.snapshot import NOTHING, Snapshot, foreign_rows, new_rows
from ameles.connectors.postgres.table import TableIdentity, TableLook, look
from ameles.connectors.reading import Reading, Skipped
from ameles.connectors.source import SourceAway, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable
from ameles.core.rules import PATHS
from ameles.measures.fields import identifier

TYPICAL = 100  # bytes of a row, about
PATIENCE = 30.0  # seconds until a server's log must be on its disk
_PAUSE = 0.01
_COPY = "COPY ({}) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')"  # lines as they are


@dataclass(frozen=True, slots=True)
class TableEnds:
    """Which transactions had ended at some moment, and where that was."""

    snapshot: Snapshot = field(repr=False)
    place: TableIdentity


@dataclass(frozen=True, slots=True)
class EventTable:
    """A table of events, and which of its columns are read."""

    address: TableAddress
    column: str  # has the transaction of a row
    dialect: Dialect = field(repr=False)

    @property
    def tx(self) -> str:
        """SQL: the transaction of a row."""
        return f"t.{identifier(self.column)}"

    def look(self, connection: Any) -> TableLook:
        """The table, in a transaction that has begun."""
        paths = self.dialect.form.rules >= PATHS
        return look(connection, self.address, self.column, self.dialect.columns, paths)

    def ends(self) -> TableEnds:
        """Which transactions have ended; a crash of the server will not undo that."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with self.address.reading() as connection:
                now = self.look(connection)
                if _is_kept(connection, now, deadline):
                    return TableEnds(now.snapshot, now.place)
        raise SourceAway(
            f"The server of {self.address.shown} does not write its log to its disk.",
            why="after a crash it could give the numbers of these transactions to others",
            tip="the log of the server, and its disk",
        )


class PostgresSource(MessageSource[TableEnds]):
    """The rows of a table."""

    schemes = SCHEMES
    kind = "postgres"
    noun = "rows"
    example = "postgresql://reader@localhost/clinic?table=visits"
    takes_format = False  # columns have names

    @classmethod
    def describe(cls, text: str) -> str:
        try:
            return TableAddress.of(text, cls.example, options=("tx",)).shown
        except AmelesError:
            return "a table of Postgres"

    @classmethod
    def check_address(cls, text: str) -> None:
        check_public(text, cls.example)

    @classmethod
    def _opened(cls, request: SourceRequest, address: SplitResult, dialect: Dialect) -> Self:
        table = TableAddress.of(request.text, cls.example, request.connection, ("tx",))
        column = dict(table.options).get("tx", "tx")
        return cls(request, dialect, EventTable(table, column, dialect))

    def __init__(self, request: SourceRequest, dialect: Dialect, table: EventTable) -> None:
        super().__init__(request, dialect)
        self._table = table

    def missing(self) -> PlanError | None:
        try:
            with self._table.address.reading() as connection:
                self._table.look(connection)
        except PlanError as problem:
            return problem
        return None

    def at_launch(self) -> str:
        return self._reached(TableEnds(NOTHING, self._table.ends().place))

    def ends(self) -> TableEnds:
        try:
            return self._table.ends()
        except PlanError as problem:  # it was fit at the launch
            raise SourceUnreadable(problem.what, why=problem.why, tip=problem.tip) from None

    def _skipped(self, place: str) -> tuple[Skipped, ...]:
        if self._skip_gap is None:
            raise SourceUnreadable(
                f"{place[0].upper()}{place[1:]} is not as it was left.",
                why="the table, its column of transactions or the server is another one, went back "
                "to an older state, or a standby took over: rows may be lost, or count twice",
                tip="the server and the table that were read; to go on after this change, "
                "and have that recorded: ameles run --skip-gap 'what happened'",
            )
        return super()._skipped(place)

    def reading(self, position: str | None, ends: TableEnds | None = None) -> Reading:
        ends = self.ends() if ends is None else ends
        old, gaps = NOTHING, tuple[Skipped, ...]()
        if position is not None:
            fields = self._stored(position)
            fields.setdefault("column", ends.place.column)  # earlier versions did not keep it
            old, place = Snapshot.of(fields.pop("snapshot")), TableIdentity(**fields)
            moved = TableIdentity(**{**fields, "timeline": ends.place.timeline}) != ends.place
            if place != ends.place or not ends.snapshot.goes_on(old):
                gaps = self._skipped(self._table.address.shown)
            if moved or not ends.snapshot.goes_on(old):
                # rows that were read may be there again, under numbers that say nothing: only
                # those count that come from now on
                old = ends.snapshot
        self._skip_gap = None  # it was declared about what is lost now
        piece = PostgresPiece(
            dialect=self._dialect,
            records=self._records,
            table=self._table,
            place=ends.place,
            old=old,
            new=ends.snapshot,
        ).counted()
        pieces = (piece,) if piece.count else ()
        return Reading(pieces, self._reached(ends), gaps=gaps)

    def _reached(self, ends: TableEnds) -> str:
        return self._position(snapshot=str(ends.snapshot), **asdict(ends.place))


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PostgresPiece(MessagePiece):
    """The rows whose transactions ended between two snapshots."""

    table: EventTable
    place: TableIdentity
    old: Snapshot
    new: Snapshot
    count: int = 0  # how many rows there are

    @property
    def size(self) -> int:
        return TYPICAL * self.count

    def counted(self) -> PostgresPiece:
        """The same, with the number of its rows."""
        with self.table.address.reading() as connection:
            now = self._same(connection)
            names = self.table.address.sql, self.table.tx
            (foreign,) = connection.execute(foreign_rows(*names, now.snapshot)).fetchone()
            if foreign:
                raise SourceUnreadable(
                    f"Rows of {self.table.address.shown} name transactions that have not ended.",
                    why="somebody wrote these numbers, or they come from another server; the rows "
                    "would count later, perhaps again",
                    tip="let writers leave the column out; after a move to another server, drop "
                    "it and add it again",
                )
            wanted = new_rows(*names, self.old, self.new, "1")
            (count,) = connection.execute(f"SELECT count(*) FROM ({wanted}) AS r").fetchone()
        return replace(self, count=count)

    def messages(self) -> Iterator[bytes | None]:
        read = 0
        with self.table.address.reading() as connection:
            line = self._same(connection).line
            rows = new_rows(self.table.address.sql, self.table.tx, self.old, self.new, line)
            with connection.cursor().copy(_COPY.format(rows)) as copy:
                for row in copy:
                    read += 1
                    yield bytes(row)
        if read != self.count:
            raise SourceUnreadable(
                f"Rows of {self.table.address.shown} were added or removed under numbers of "
                "transactions that had ended.",
                why="they changed while they were read, and would count wrongly",
                tip="let writers leave the column of the transaction out, and keep the triggers; "
                "then run again",
            )

    def _same(self, connection: Any) -> TableLook:
        """The table, which must be the one that the snapshots are of."""
        now = self.table.look(connection)
        if now.place != self.place or not now.snapshot.goes_on(self.new):
            raise SourceAway(
                f"{self.table.address.where} is another server or table than a moment ago.",
                tip="run again",
            )
        return now


def _is_kept(connection: Any, now: TableLook, deadline: float) -> bool:
    """Waits until what a look has seen survives a crash; False if that cannot be known.

    A transaction that has ended is in the server's log, but perhaps not on its disk yet: after a
    crash its number would be given again, to rows that seem to have been read.
    """
    connection.execute("COMMIT")
    asked = "SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn, pg_backend_pid()"
    first = True
    while time.monotonic() < deadline:
        kept, backend = connection.execute(asked, (now.logged,)).fetchone()
        if backend != now.backend:  # a pooler; the server may have crashed in between
            return False
        if kept:
            return True
        if first:
            connection.execute("SELECT pg_current_xact_id()")  # its end makes the log be written
        first = False
        time.sleep(_PAUSE)
    return False
