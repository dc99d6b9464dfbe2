"""Which digests were looked at, and when first: never what was seen.

The first look stays.  What was seen cannot be unseen, so a later look changes nothing about what
was known at a launch in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ameles.store.records import microseconds, moment
from ameles.store.session import TransactionPart


class Checked(TransactionPart):
    """That the owner looked at the data of a plan before its launch."""

    def set_checked(self, digests: Iterable[str], at: datetime) -> None:
        """These were looked at; where that was known, the first time stays."""
        for digest in digests:
            self._session.write(
                "INSERT INTO checked (plan, at) VALUES (?, ?) ON CONFLICT (plan) DO NOTHING",
                (digest, microseconds(at)),
            )

    def checked(self, digest: str) -> datetime | None:
        """When it was first looked at; None: never."""
        row = self._session.row("SELECT at FROM checked WHERE plan = ?", (digest,))
        return None if row is None else moment(row[0])
