"""Times in milliseconds that DuckDB cannot convert: read from a copy in which they are integers.

DuckDB converts each time in milliseconds to microseconds as it reads it, and one that is too large
fails the scan of all rows.  So a scan of these columns alone is tried first.  If it fails, some row
groups at a time are copied into memory, with a footer that calls these columns integers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ameles.connectors.memory_file import memory_file
from ameles.connectors.parquet.footer import Footer
from ameles.connectors.parquet.row_groups import RowGroup, row_groups
from ameles.core.exceptions import SourceUnreadable
from ameles.measures.fields import identifier

_AT_ONCE = 64 << 20  # bytes of row groups that are in memory at a time, if groups are not larger
_BLOCK = 1 << 20  # bytes that are copied at once
# Milliseconds that DuckDB has a time for, and those that it takes for an infinity.
_FIRST, _LAST = -9_223_372_022_400_000, 9_223_372_036_854_775
_INFINITE = (1 << 63) - 1

Millis = Sequence[tuple[str, str]]  # columns and DuckDB's types of them


def converts(duck: duckdb.DuckDBPyConnection, scanned: str, millis: Millis) -> bool:
    """Whether DuckDB can convert all times of these columns in what is scanned."""
    hashes = ", ".join(f"max(hash({identifier(name)}))" for name, _ in millis)
    try:
        duck.execute(f"SELECT {hashes} FROM {scanned}").fetchall()
    except duckdb.ConversionException:
        return False
    except duckdb.Error:
        return True  # whoever reads it says what is wrong
    return True


def parts_of(
    path: str, rows: tuple[int, int] | None
) -> Iterator[tuple[tuple[RowGroup, ...], bool]]:
    """Row groups of a file that are read together, and whether they are all that it has."""
    every = row_groups(path)
    part = list[RowGroup]()
    for group in every:
        if rows is not None and not rows[0] <= group.first <= rows[1]:
            continue
        if part and group.end - part[0].start > _AT_ONCE:
            yield tuple(part), False
            part = []
        part.append(group)
    if part:
        yield tuple(part), len(part) == len(every)


@contextmanager
def raw_copy(path: str, groups: Sequence[RowGroup], copy: Path) -> Iterator[None]:
    """While open, ``copy`` has these row groups, with integers instead of times."""
    try:
        footer = Footer(path)
        end = footer.ending(millis=True)
    except ValueError:
        raise SourceUnreadable(
            "A Parquet file of the source was changed while it was read.",
            why="its footer is another one than before",
            tip="write to another name, and rename the file to .parquet when it is complete",
        ) from None
    tail = max(group.end for group in row_groups(path))
    with open(path, "rb", buffering=0) as file, memory_file(copy) as handle:
        # What follows the row groups, such as filters, is needed with any of them.
        for first, last in ((0, 4), (groups[0].start, groups[-1].end), (tail, footer.start)):
            for place in range(first, last, _BLOCK):
                some = os.pread(file.fileno(), min(_BLOCK, last - place), place)
                os.pwrite(handle, some, place)
        os.pwrite(handle, end, footer.start)
        yield


def restored(scanned: str, millis: Millis) -> str:
    """SQL: what is scanned, with times instead of integers; NULL for those that are no time."""
    columns = ", ".join(
        f"{_time(identifier(name), kind)} AS {identifier(name)}" for name, kind in millis
    )
    return f"(SELECT * REPLACE ({columns}) FROM {scanned})"


def _time(given: str, kind: str) -> str:
    make = "make_timestamptz" if kind.endswith("TIME ZONE") else "make_timestamp"
    bounded = f"greatest(least({given}, {_LAST}), {_FIRST})"
    return (
        f"CASE WHEN {given} BETWEEN {_FIRST} AND {_LAST} THEN {make}({bounded} * 1000) "
        f"WHEN {given} = {_INFINITE} THEN 'infinity'::{kind} "
        f"WHEN {given} = -{_INFINITE} THEN '-infinity'::{kind} END"
    )
