"""All dialects of lines, by the name in a plan or the ending of a file."""

from __future__ import annotations

from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.json_lines import JsonLines

DIALECTS: dict[str, type[Dialect]] = {
    "csv": CsvLines,
    "jsonl": JsonLines,
    "avro": JsonLines,  # each record becomes an object
}
