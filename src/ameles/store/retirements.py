"""Streams that were retired: their state is erased, so they never go on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.session import TransactionPart


@dataclass(frozen=True, slots=True)
class Retirement:
    """When and why a stream was retired."""

    at: datetime
    why: str


class Retirements(TransactionPart):
    """Retired streams, for ever."""

    def retire(self, stream: StreamRecord, *, at: datetime, why: str) -> None:
        """Records that a stream is retired; a second time is refused."""
        self._session.write(
            "INSERT INTO retirement (stream, at, why) VALUES (?, ?, ?)",
            (stream.number, microseconds(at), why),
            double=f"The stream '{stream.name}' is retired already.",
        )

    def erase_secrets(self, stream: StreamRecord) -> None:
        """Removes everything secret of a stream: its state, events that wait, users, positions.

        Its releases, its entries in the ledger and what is public of its state stay.
        """
        for table in ("pending", "seen", "user_records", "batch", "arrived", "intake", "position"):
            self._session.write(f"DELETE FROM {table} WHERE stream = ?", (stream.number,))
        self._session.write("UPDATE state SET snapshot = ? WHERE stream = ?", (b"", stream.number))
        self._session.write(
            "UPDATE stream SET salt = ? WHERE number = ?",
            (bytes(len(stream.salt)), stream.number),
        )

    def retirement(self, stream: StreamRecord) -> Retirement | None:
        """When and why a stream was retired; None if it was not."""
        row = self._session.row("SELECT at, why FROM retirement WHERE stream = ?", (stream.number,))
        return None if row is None else Retirement(moment(row[0]), row[1])
