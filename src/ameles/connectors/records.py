r"""Release records as lines of CSV and JSON; their columns are documented and stable.

>>> row = ("flu", "fever", "north", 1, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z",
...        17, 11.5, None, "", "BinaryCounter", 2)
>>> FORMATS["csv"].lines([row])
'flu,fever,north,1,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,17,11.5,,,BinaryCounter,2\n'
>>> FORMATS["csv"].steps_of(FORMATS["csv"].lines([row]) + "flu,fever\n")
[1, None]
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ameles.connectors.sink import Row
from ameles.core.release import COLUMNS
from ameles.core.release_lines import CSV_HEADER, csv_lines, json_line

_STEP = COLUMNS.index("step")
_DIGITS = 18  # of a step, at most; Python refuses to read thousands of them
SHIELDED = "shielded"  # the form of CSV files since notes name a form


class LineFormat(ABC):
    """How a record is written as a line."""

    header: str

    @abstractmethod
    def lines(self, rows: Iterable[Row]) -> str:
        """Records, each with its newline."""

    def whole(self, text: str) -> int:
        """The length of the whole records at the start of a text."""
        return text.rfind("\n") + 1

    @abstractmethod
    def steps_of(self, text: str) -> list[int | None]:
        """The step of each record in a text of whole records; None for anything else."""

    @abstractmethod
    def begins(self, torn: str, stream: str) -> bool:
        """Whether an incomplete line may be the beginning of a record."""


class Csv(LineFormat):
    """RFC 4180 with a newline as the end of a line; a missing value is empty."""

    header = CSV_HEADER

    def lines(self, rows: Iterable[Row]) -> str:
        held = io.StringIO()
        csv.writer(held, lineterminator="\n").writerows(rows)
        return held.getvalue()

    def steps_of(self, text: str) -> list[int | None]:
        steps: list[int | None] = []
        try:
            for row in csv.reader(io.StringIO(text, newline="")):
                steps.append(_whole(row[_STEP]) if len(row) == len(COLUMNS) else None)
        except csv.Error:
            steps.append(None)
        return steps

    def whole(self, text: str) -> int:
        end = super().whole(text)
        while text.count('"', 0, end) % 2:  # a newline in a key
            end = super().whole(text[: end - 1])
        return end

    def begins(self, torn: str, stream: str) -> bool:
        return _agree(torn, f"{stream},")


class ShieldedCsv(Csv):
    """The same, with an apostrophe before each text that a spreadsheet would take for a formula."""

    def lines(self, rows: Iterable[Row]) -> str:
        return csv_lines(rows)


class Jsonl(LineFormat):
    """An object on a line; a missing value is null."""

    header = ""

    def lines(self, rows: Iterable[Row]) -> str:
        return "".join(json_line(row) + "\n" for row in rows)

    def steps_of(self, text: str) -> list[int | None]:
        return [_json_step(line) for line in text.split("\n")[:-1]]

    def begins(self, torn: str, stream: str) -> bool:
        return _agree(torn, f'{{"stream":{json.dumps(stream)},')


def _json_step(line: str) -> int | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # a line of somebody else, who may nest it deeply
        return None
    return _whole(record.get("step")) if isinstance(record, dict) else None


def _agree(torn: str, start: str) -> bool:
    return torn.startswith(start) or start.startswith(torn)


def _whole(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


FORMATS: dict[str, LineFormat] = {"csv": Csv(), "jsonl": Jsonl()}
