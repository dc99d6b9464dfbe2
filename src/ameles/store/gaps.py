"""Gaps: records that a source lost before they were read, and that a stream goes on without."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.session import TransactionPart


@dataclass(frozen=True, slots=True)
class Gap:
    """When a stream went on without records of a place, and why, as its owner said."""

    at: datetime
    place: str
    why: str


class Gaps(TransactionPart):
    """The gaps of streams, for ever."""

    def add_gap(self, stream: StreamRecord, *, at: datetime, place: str, why: str) -> None:
        """Records a gap."""
        number = self._session.one(
            "SELECT count(*) + 1 FROM gap WHERE stream = ?", (stream.number,)
        )
        self._session.write(
            "INSERT INTO gap (stream, number, at, place, why) VALUES (?, ?, ?, ?, ?)",
            (stream.number, number, microseconds(at), place, why),
        )

    def gaps(self, stream: StreamRecord) -> tuple[Gap, ...]:
        """All gaps of a stream, in order."""
        rows = self._session.rows(
            "SELECT at, place, why FROM gap WHERE stream = ? ORDER BY number", (stream.number,)
        )
        return tuple(Gap(moment(at), place, why) for at, place, why in rows)
