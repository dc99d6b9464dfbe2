"""How a source is written, as its plan declares it; nothing about it is found out from the data.

The defaults are a CSV file as RFC 4180 and ISO 8601 have it, in UTF-8.

>>> Format(delimiter=";", decimal=",", time_format=("%d.%m.%Y",)).encoding
'utf-8'
>>> [kind_of(name) for name in ("a.csv", "logs/*.jsonl.gz", "a.csv*", "a.txt")]
['csv', 'jsonl', 'csv', None]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ameles.connectors.compressed import without_ending
from ameles.core.rules import CURRENT

Encoding: TypeAlias = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "windows-1252"
]
_KINDS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Of one source; what a kind of source does not have stays at its default."""

    time_format: tuple[str, ...] = ()  # none: ISO 8601
    delimiter: str = ","
    quote: str = '"'  # empty: there are none
    decimal: str = "."
    encoding: Encoding = "utf-8"
    header: tuple[str, ...] = ()  # none: the first line of a file has them
    strip: bool = False
    rules: int = CURRENT  # by which a stream reads, for ever


DEFAULT = Format()


def kind_of(source: str) -> str | None:
    """What the files of a path or pattern hold, by their ending: csv, jsonl or parquet."""
    # "events.csv*" also matches what events.csv is renamed to when it is rotated
    name = without_ending(source.rstrip("*.")).rstrip("*.")
    return _KINDS.get(Path(name).suffix.lower())
