"""The epochs of pan-private streams: each restart after a lost state begins one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.session import TransactionPart


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """A restart; ``number`` is the number of the epoch that it began, from 2."""

    number: int
    released: int  # the last step that was released before it
    at: datetime
    why: str
    base: bytes = field(repr=False)  # the released counts that this epoch adds to
    begun: bool  # whether its first state was made


class Epochs(TransactionPart):
    """Restarts, counted forever."""

    def add_epoch(self, stream: StreamRecord, *, at: datetime, why: str, base: bytes) -> int:
        """Records a new epoch that has no state yet; returns its number."""
        number: int = self._session.one(
            "SELECT coalesce(max(number), 1) + 1 FROM epoch WHERE stream = ?", (stream.number,)
        )
        self._session.write(
            "INSERT INTO epoch (stream, number, released, at, why, base) VALUES (?, ?, ?, ?, ?, ?)",
            (stream.number, number, stream.released, microseconds(at), why, base),
        )
        return number

    def begin_epoch(self, stream: StreamRecord, number: int) -> None:
        """Records that the first state of an epoch was made."""
        self._session.write(
            "UPDATE epoch SET begun = 1 WHERE stream = ? AND number = ?", (stream.number, number)
        )

    def epochs(self, stream: StreamRecord) -> tuple[EpochRecord, ...]:
        """All epochs of a stream after its first."""
        rows = self._session.rows(
            "SELECT number, released, at, why, base, begun FROM epoch WHERE stream = ? "
            "ORDER BY number",
            (stream.number,),
        )
        return tuple(
            EpochRecord(number, released, moment(at), why, bytes(base), bool(begun))
            for number, released, at, why, base, begun in rows
        )
