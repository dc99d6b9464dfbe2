"""Texts about a stream for those who read its releases: computed once by the engine's side, so that
what shows them needs no mechanism."""

from __future__ import annotations

from ameles.store.records import StreamRecord
from ameles.store.session import TransactionPart


class Descriptions(TransactionPart):
    """JSON texts, by stream and topic.  Nothing in them is secret."""

    def set_description(self, stream: StreamRecord, topic: str, content: str) -> None:
        """Stores the text of a topic; it replaces the text before."""
        self._session.write(
            "INSERT INTO description (stream, topic, content) VALUES (?, ?, ?) "
            "ON CONFLICT (stream, topic) DO UPDATE SET content = excluded.content",
            (stream.number, topic, content),
        )

    def description(self, stream: StreamRecord, topic: str) -> str | None:
        """The text of a topic, if there is one."""
        row = self._session.row(
            "SELECT content FROM description WHERE stream = ? AND topic = ?",
            (stream.number, topic),
        )
        return None if row is None else str(row[0])

    def descriptions(self, stream: StreamRecord) -> dict[str, str]:
        """All texts of a stream, by topic."""
        rows = self._session.rows(
            "SELECT topic, content FROM description WHERE stream = ? ORDER BY topic",
            (stream.number,),
        )
        return dict(rows)
