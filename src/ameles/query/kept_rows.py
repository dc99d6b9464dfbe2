"""Rows of text files that a table keeps in memory between questions.

To read a large CSV file takes seconds, and to ask its rows takes milliseconds.  So the rows stay in
the connection that the table keeps anyway: in memory, never on a disk.  They are used again only as
long as the files have the same names, inodes, sizes and times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import duckdb

from ameles.connectors.files.named_files import list_names
from ameles.engine.gathering.temporary_tables import TemporaryTables

Stamp = tuple[tuple[str, int, int, int, int, int], ...]

# A table that takes more memory than this is dropped after its question.
MOST_BYTES = 1 << 30
# A file that was written a moment ago may be written again without a new time.
SETTLED_NS = 2 * 10**9
_NUMBERS = count(1)  # no two of them share a name


def stamp_of(path: str, base: Path) -> Stamp | None:
    """What tells whether the files of a path or pattern changed; None if they may be changing."""
    marks, now = [], time.time_ns()
    for file in list_names(path, base):
        try:
            held = os.stat(file.path)
        except OSError:
            return None
        if max(held.st_mtime_ns, held.st_ctime_ns) >= now - SETTLED_NS:
            return None
        times = held.st_mtime_ns, held.st_ctime_ns
        marks.append((file.name, held.st_dev, held.st_ino, held.st_size, *times))
    return tuple(marks)


class KeptRows:
    """At most one table of rows, on the connection that loaded it."""

    def __init__(self) -> None:
        self._name = f"kept_rows_{next(_NUMBERS)}"
        self._kept: tuple[duckdb.DuckDBPyConnection, Stamp] | None = None

    def table(
        self,
        duck: duckdb.DuckDBPyConnection,
        tables: TemporaryTables,
        stamp: Stamp | None,
        load: Callable[[], str],
    ) -> str:
        """The table with the rows: the one that is kept, or one that ``load`` makes.

        ``tables`` drops what ``load`` made after the question, unless it is kept.  Without a stamp
        nothing is kept, but the rows on another connection stay.
        """
        kept = self._kept
        if stamp is not None and kept is not None and kept[0] is duck and kept[1] == stamp:
            return self._name
        tables.drop(self._name)
        made = load()
        if stamp is None or _bytes(duck) > MOST_BYTES:
            return made
        tables.rename(made, self._name)
        self._kept = duck, stamp
        return self._name


def _bytes(duck: duckdb.DuckDBPyConnection) -> int:
    """The memory that the tables of a connection take."""
    asked = "SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()"
    [(taken,)] = duck.execute(asked).fetchall()
    return int(taken)
