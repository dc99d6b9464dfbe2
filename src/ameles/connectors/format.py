"""The format of a source, as its plan declares it; nothing is detected from the data.

The defaults are CSV as in RFC 4180, times as in ISO 8601, and UTF-8.

>>> Format(delimiter=";", decimal=",", time_format=("%d.%m.%Y",)).encoding
'utf-8'
>>> [kind_of(name) for name in ("a.csv", "logs/*.jsonl.gz", "a.csv*", "a.txt")]
['csv', 'jsonl', 'csv', None]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ameles.connectors.files.compressed import without_ending
from ameles.core.rules import CURRENT

Encoding: TypeAlias = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "windows-1252"
]
_KINDS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The format of one source; keys that a kind of source does not have keep their defaults."""

    time_format: tuple[str, ...] = ()  # none: ISO 8601
    delimiter: str = ","
    quote: str = '"'  # empty: no quotes
    decimal: str = "."
    encoding: Encoding = "utf-8"
    header: tuple[str, ...] = ()  # empty: the first line of a file has the names
    strip: bool = False
    rules: int = CURRENT  # the version of the reading rules, fixed at launch


DEFAULT = Format()


def kind_of(source: str) -> str | None:
    """The kind of files that a path or pattern names, by their ending: csv, jsonl or parquet."""
    # "events.csv*" also matches what events.csv is renamed to when it is rotated
    name = without_ending(source.rstrip("*.")).rstrip("*.")
    return _KINDS.get(Path(name).suffix.lower())
