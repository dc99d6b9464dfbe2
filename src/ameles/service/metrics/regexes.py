"""Regular expressions of queries, in the syntax of RE2 and in linear time.

Python's own engine backtracks: a short pattern can take it hours.  DuckDB, which is installed with
Ameles, has RE2, the engine whose syntax Prometheus has.  Patterns are anchored at both ends, and
the size of what they are compiled to is bounded.

>>> sorted(full_matches("n.*|east", ["north", "east", "northeast!", "feast"]))
['east', 'north', 'northeast!']
>>> full_matches("(a*)*b", ["a" * 10_000])
set()
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

import duckdb

from ameles.service.metrics.refusals import QueryRefused

LARGEST = 10_000  # characters of a pattern, times how often its parts may be repeated
_COUNTED = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_MATCHING = (
    "SELECT text FROM (SELECT unnest(?::VARCHAR[]) AS text) WHERE regexp_full_match(text, ?)"
)


def full_matches(pattern: str, texts: Iterable[str]) -> set[str]:
    """Those of the texts that match a pattern as a whole."""
    if len(pattern) * _repetitions(pattern) > LARGEST:
        raise QueryRefused("A regular expression is too large.")
    try:
        rows = _engine().cursor().execute(_MATCHING, [list(texts), pattern]).fetchall()
    except (duckdb.Error, UnicodeEncodeError):  # their texts repeat the pattern
        raise QueryRefused("A regular expression cannot be read; its syntax is RE2.") from None
    return {text for (text,) in rows}


def _repetitions(pattern: str) -> int:
    """How often counted repetitions may copy a part of a pattern, at most.

    >>> _repetitions("(a{3}|b{2,5})*c{4,}")
    60
    """
    counts = (int(last or first) for first, last in _COUNTED.findall(pattern[:LARGEST]))
    return math.prod(max(1, min(count, LARGEST)) for count in counts)


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """A database with no tables, no files and one thread; each question has its own cursor."""
    return duckdb.connect(config={"enable_external_access": "false", "threads": "1"})
