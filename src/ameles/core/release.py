"""One published number: what everyone may see, with its own error bar.

The fields and their order are the columns of every file, table and answer that shows releases.

>>> release = Release(stream="flu", release="fever", key="north", step=3, start=None, end=None,
...                   value=17, low=11, high=23, label="", mechanism="SimpleTwoCounter", entry=1)
>>> release.to_dict()["value"]
17
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from ameles.core.exceptions import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A value for one key and one step; ``low`` to ``high`` covers the privacy noise alone."""

    stream: str
    release: str
    key: str  # "" where nothing is declared, "north/adult" for several columns
    step: int  # from 1
    start: datetime | None  # of the step, where the stream has a clock
    end: datetime | None
    value: int | float | None  # None where there is nothing to say, as after an alert has halted
    low: int | float | None
    high: int | float | None
    label: str  # what the value means, where it is more than a number; mostly ""
    mechanism: str
    entry: int  # the number of the ledger entry that paid for it

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data; times in ISO 8601, UTC, with a Z."""
        record = {name: getattr(self, name) for name in COLUMNS}
        for edge in ("start", "end"):
            record[edge] = record[edge] and written(record[edge])
        return record


COLUMNS: tuple[str, ...] = tuple(each.name for each in fields(Release))


def written(time: datetime) -> str:
    """A time as files have it: ISO 8601, UTC, with a Z.

    >>> written(datetime(2026, 1, 3, tzinfo=UTC))
    '2026-01-03T00:00:00Z'
    """
    if time.tzinfo is None:
        raise BadInput(
            "A release needs times with a zone.",
            why="a time without one means another moment on every machine",
            tip="datetime(2026, 1, 3, tzinfo=UTC)",
        )
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
