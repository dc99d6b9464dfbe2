"""The log of announced intrusions: when somebody saw the state of a stream, and what is known."""

from __future__ import annotations

from datetime import datetime

from ameles.store.records import IntrusionRecord, StreamRecord, microseconds, moment
from ameles.store.session import TransactionPart


class IntrusionLog(TransactionPart):
    """The announced intrusions into pan-private streams."""

    def add_intrusion(self, stream: StreamRecord, *, at: datetime, why: str) -> int:
        """Records an intrusion; returns how many there are now."""
        count: int = self._session.one(
            "SELECT count(*) + 1 FROM intrusion WHERE stream = ?", (stream.number,)
        )
        self._session.write(
            "INSERT INTO intrusion (stream, number, at, why) VALUES (?, ?, ?, ?)",
            (stream.number, count, microseconds(at), why),
        )
        return count

    def intrusions(self, stream: StreamRecord) -> tuple[IntrusionRecord, ...]:
        """All intrusions into a stream that were announced."""
        rows = self._session.rows(
            "SELECT number, at, why FROM intrusion WHERE stream = ? ORDER BY number",
            (stream.number,),
        )
        return tuple(IntrusionRecord(number, moment(at), why) for number, at, why in rows)
