"""The kinds of lines that can be events, by the name that a plan or the ending of a file has."""

from __future__ import annotations

from ameles.connectors.csv_lines import CsvLines
from ameles.connectors.dialect import Dialect
from ameles.connectors.json_lines import JsonLines

DIALECTS: dict[str, type[Dialect]] = {"csv": CsvLines, "jsonl": JsonLines}
