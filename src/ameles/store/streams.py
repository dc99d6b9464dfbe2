"""Streams in a store: what was launched, and its progress."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.rules import CURRENT, FIRST
from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.session import Row, TransactionPart

SALT = 32
_STREAM = (
    "SELECT stream.number, stream.name, population.name, plan, identity, salt, launched, "
    "released, scheduled, rules "
    "FROM stream JOIN population ON population.number = stream.population"
)


class Streams(TransactionPart):
    """Streams, their progress, the positions of their sources, and what their sinks have."""

    def add_stream(
        self,
        name: str,
        *,
        population: str,
        plan: str,
        identity: UUID,
        salt: bytes,
        launched: datetime,
        rules: int = CURRENT,
    ) -> StreamRecord:
        """Adds a new stream, without released steps."""
        if not name:
            raise BadInput("A stream must have a name.")
        if len(salt) != SALT:
            raise BadInput(f"A salt must have {SALT} bytes.")
        whose = self._session.row("SELECT number FROM population WHERE name = ?", (population,))
        if whose is None:
            raise StoreRefused(
                f"The population '{population}' was not opened.",
                why="a stream spends from the budget of the people whom it is about",
                tip="open_population(...)",
            )
        number = self._session.one("SELECT coalesce(max(number), 0) + 1 FROM stream")
        self._session.write(
            "INSERT INTO stream (number, name, population, plan, identity, salt, launched, rules) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(number, name, whose[0], plan, str(identity), bytes(salt)),
                *(microseconds(launched), rules),
            ),
            double=f"The stream '{name}' was launched before.",
        )
        return StreamRecord(
            number=number,
            name=name,
            population=population,
            plan=plan,
            identity=identity,
            salt=bytes(salt),
            launched=launched,
            released=0,
            scheduled=0,
            rules=rules,
        )

    def stream(self, name: str) -> StreamRecord | None:
        """The stream of this name, if it was launched."""
        row = self._session.row(f"{_STREAM} WHERE stream.name = ?", (name,))
        return None if row is None else _record(row)

    def streams(self) -> tuple[StreamRecord, ...]:
        """All streams, in the order of their launches."""
        return tuple(_record(row) for row in self._session.rows(f"{_STREAM} ORDER BY 1"))

    def advance(
        self, stream: StreamRecord, *, released: int | None = None, scheduled: int | None = None
    ) -> StreamRecord:
        """Records steps that were released, or that must close; a stream never goes back."""
        row = self._session.row(
            "SELECT released, scheduled FROM stream WHERE number = ?", (stream.number,)
        )
        if row is None:
            raise StoreRefused(f"The stream '{stream.name}' is not in this store.")
        had_released, had_scheduled = row
        after = had_released if released is None else released
        closing = max(had_scheduled, after) if scheduled is None else scheduled
        if after < had_released or closing < had_scheduled or closing < after:
            raise StoreRefused(
                f"The stream '{stream.name}' cannot go back: step {had_released} is released "
                f"and step {had_scheduled} is scheduled.",
                why="a step is released once, and one that was scheduled must close",
            )
        self._session.write(
            "UPDATE stream SET released = ?, scheduled = ? WHERE number = ?",
            (after, closing, stream.number),
        )
        return replace(stream, released=after, scheduled=closing)

    def position(self, stream: StreamRecord) -> str | None:
        """The position of its source; secret, because it shows how much has arrived."""
        row = self._session.row("SELECT position FROM position WHERE stream = ?", (stream.number,))
        return None if row is None else str(row[0])

    def set_position(self, stream: StreamRecord, position: str) -> None:
        """Stores the position of its source after what this transaction has read."""
        self._session.write(
            "INSERT INTO position (stream, position) VALUES (?, ?) "
            "ON CONFLICT (stream) DO UPDATE SET position = excluded.position",
            (stream.number, position),
        )

    def sent(self, stream: StreamRecord, sink: str) -> int:
        """The last step that a sink has, 0 before the first."""
        row = self._session.row(
            "SELECT step FROM sent WHERE stream = ? AND sink = ?", (stream.number, sink)
        )
        return 0 if row is None else int(row[0])

    def all_sent(self, stream: StreamRecord) -> dict[str, int]:
        """The steps that its sinks have had: for standard output the last one, for others any."""
        rows = self._session.rows(
            "SELECT sink, step FROM sent WHERE stream = ? ORDER BY sink", (stream.number,)
        )
        return {str(sink): int(step) for sink, step in rows}

    def set_sent(self, stream: StreamRecord, sink: str, step: int) -> None:
        """Records that a sink has all steps up to this one."""
        self._session.write(
            "INSERT INTO sent (stream, sink, step) VALUES (?, ?, ?) "
            "ON CONFLICT (stream, sink) DO UPDATE SET step = excluded.step",
            (stream.number, sink, step),
        )


def _record(row: Row) -> StreamRecord:
    number, name, population, plan, identity, salt, launched, released, scheduled, rules = row
    return StreamRecord(
        number=number,
        name=name,
        population=population,
        plan=plan,
        identity=UUID(identity),
        salt=salt,
        launched=moment(launched),
        released=released,
        scheduled=scheduled,
        rules=_known(name, rules),
    )


def _known(name: str, rules: int) -> int:
    if not FIRST <= rules <= CURRENT:
        raise StoreRefused(
            f"The stream '{name}' reads its source by rules of version {rules}; this program knows "
            f"up to version {CURRENT}.",
            why="a newer program launched it",
            tip="update ameles",
        )
    return rules
