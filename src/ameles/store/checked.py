"""Which digests of plans were checked against the data, and when first; never what was seen.

The time of the first check stays: a later check does not change what the owner already knew at a
launch in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ameles.store.records import microseconds, moment
from ameles.store.session import TransactionPart


class Checked(TransactionPart):
    """Records that the owner looked at the data of a plan before its launch."""

    def set_checked(self, digests: Iterable[str], at: datetime) -> None:
        """Records that these were checked; if that is already recorded, the first time stays."""
        for digest in digests:
            self._session.write(
                "INSERT INTO checked (plan, at) VALUES (?, ?) ON CONFLICT (plan) DO NOTHING",
                (digest, microseconds(at)),
            )

    def checked(self, digest: str) -> datetime | None:
        """When it was first checked; None if never."""
        row = self._session.row("SELECT at FROM checked WHERE plan = ?", (digest,))
        return None if row is None else moment(row[0])
