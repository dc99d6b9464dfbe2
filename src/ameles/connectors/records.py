r"""Release records as lines of CSV and JSON; their columns are documented and stable.

>>> row = ("flu", "fever", "north", 1, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z",
...        17, 11.5, None, "", "BinaryCounter", 2)
>>> FORMATS["csv"].lines([row])
'flu,fever,north,1,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,17,11.5,,,BinaryCounter,2\n'
>>> FORMATS["csv"].step_of("flu,fever,north,1,2026-01-01T00:00:00Z,,17,11.5,,,BinaryCounter,2")
1
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from ameles.connectors.sink import Row
from ameles.core.release import COLUMNS

_STEP = COLUMNS.index("step")


class Format(ABC):
    """How a record is a line."""

    header: str

    @abstractmethod
    def lines(self, rows: Iterable[Row]) -> str:
        """Records, each with its newline."""

    @abstractmethod
    def step_of(self, line: str) -> int | None:
        """The step of a record; None if the line is none, such as one that is torn."""


class Csv(Format):
    """RFC 4180 with a newline; what is missing is empty."""

    header = ",".join(COLUMNS) + "\n"

    def lines(self, rows: Iterable[Row]) -> str:
        held = io.StringIO()
        csv.writer(held, lineterminator="\n").writerows(rows)
        return held.getvalue()

    def step_of(self, line: str) -> int | None:
        try:
            row = next(csv.reader([line]), [])
        except csv.Error:
            return None
        return _whole(row[_STEP]) if len(row) == len(COLUMNS) else None


class Jsonl(Format):
    """An object on a line; what is missing is null."""

    header = ""

    def lines(self, rows: Iterable[Row]) -> str:
        return "".join(self._line(row) + "\n" for row in rows)

    def step_of(self, line: str) -> int | None:
        try:
            record = json.loads(line)
        except ValueError:
            return None
        return _whole(record.get("step")) if isinstance(record, dict) else None

    def _line(self, row: Sequence[object]) -> str:
        record = dict(zip(COLUMNS, row, strict=True))
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _whole(found: object) -> int | None:
    text = str(found)
    return int(text) if text.isascii() and text.isdigit() else None


FORMATS: dict[str, Format] = {"csv": Csv(), "jsonl": Jsonl()}
