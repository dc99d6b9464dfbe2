"""One published number: what everyone may see, with its own error bar.

>>> release = Release(stream="flu", name="fever", key=("north",), step=3, start=None, end=None,
...                   value=17, low=11, high=23, mechanism="SimpleTwoCounter", entry=1)
>>> release.to_dict()["value"]
17
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A value for one key and one step; ``low`` to ``high`` covers the privacy noise alone."""

    stream: str
    name: str
    key: tuple[str, ...]
    step: int  # from 1
    start: datetime | None  # of the step, where the stream has a clock
    end: datetime | None
    value: int | float
    low: int | float
    high: int | float
    mechanism: str
    entry: int  # the ledger entry that paid for it

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data; times in ISO 8601."""
        fields = asdict(self)
        fields["key"] = list(self.key)
        for edge in ("start", "end"):
            fields[edge] = fields[edge] and fields[edge].isoformat()
        return fields
