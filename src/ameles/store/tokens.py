"""Tokens in a store: who may do what with which stream.

A token itself is stored nowhere: whoever reads the store cannot use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ameles.store.records import microseconds, moment
from ameles.store.session import Row, TransactionPart

Scope: TypeAlias = Literal["ingest", "read", "admin"]

_COLUMNS = "number, name, stream, scope, created, expires, revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """What a token allows, and until when."""

    number: int
    name: str
    stream: str  # the stream's name; it may be launched later
    scope: Scope
    created: datetime
    expires: datetime
    revoked: datetime | None

    def valid(self, at: datetime) -> bool:
        """Whether it can be used at this moment.

        Also before it was made: the clock of this machine may be behind that of another one, or may
        have been set back, and the holder would lose events for it.
        """
        return self.revoked is None and at < self.expires


class Tokens(TransactionPart):
    """Tokens, by the SHA-256 of their text."""

    def add_token(
        self,
        *,
        digest: bytes,
        name: str,
        stream: str,
        scope: Scope,
        created: datetime,
        expires: datetime,
    ) -> int:
        """Stores a token; returns its number.  Two tokens never have one name."""
        number: int = self._session.one("SELECT coalesce(max(number), 0) + 1 FROM token")
        self._session.write(
            "INSERT INTO token (number, digest, name, stream, scope, created, expires) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, digest, name, stream, scope, microseconds(created), microseconds(expires)),
            double=f"A token named '{name}' exists already.",
        )
        return number

    def token(self, digest: bytes) -> TokenRecord | None:
        """The token with this digest, valid or not."""
        row = self._session.row(f"SELECT {_COLUMNS} FROM token WHERE digest = ?", (digest,))
        return None if row is None else _record(row)

    def tokens(self) -> tuple[TokenRecord, ...]:
        """All tokens that were ever made, by number."""
        rows = self._session.rows(f"SELECT {_COLUMNS} FROM token ORDER BY number")
        return tuple(_record(row) for row in rows)

    def revoke_token(self, number: int, at: datetime) -> None:
        """Makes a token invalid for ever; a revoked one stays as it is."""
        self._session.write(
            "UPDATE token SET revoked = ? WHERE number = ? AND revoked IS NULL",
            (microseconds(at), number),
        )


def _record(row: Row) -> TokenRecord:
    number, name, stream, scope, created, expires, revoked = row
    return TokenRecord(
        number=number,
        name=name,
        stream=stream,
        scope=scope,
        created=moment(created),
        expires=moment(expires),
        revoked=None if revoked is None else moment(revoked),
    )
