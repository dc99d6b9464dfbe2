"""The row groups of a Parquet file, and where their bytes are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ameles.connectors.duck import connect
from ameles.connectors.parquet.footer import memory_path, new_token, without_types
from ameles.connectors.parquet.scan import hides_places
from ameles.measures.fields import literal

_MEMORY = 256 << 20  # to look into a footer


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its rows, and its bytes in the object."""

    first: int
    rows: int
    start: int
    end: int


def row_groups(path: str) -> tuple[RowGroup, ...]:
    """The row groups of an object; as one if it cannot be cut."""
    begins = (
        "least(coalesce(nullif(dictionary_page_offset, 0), data_page_offset), data_page_offset)"
    )
    asked = (
        f"SELECT any_value(row_group_num_rows), min({begins}), max({begins} + "
        "total_compressed_size), min(bloom_filter_offset), max(bloom_filter_offset), "
        f"list(DISTINCT path_in_schema) FROM parquet_metadata(PATH) "
        "GROUP BY row_group_id ORDER BY row_group_id"
    )
    with (
        without_types(path, memory_path(new_token())) as bare,
        closing(connect(zone="UTC", memory=_MEMORY, readable=[bare])) as duck,
    ):
        return laid_out(duck.execute(asked.replace("PATH", literal(bare))).fetchall())


def laid_out(found: Sequence[tuple[Any, ...]]) -> tuple[RowGroup, ...]:
    """Row groups from what a footer says of each: rows, first and last byte, first and last byte of
    its filters, and names of columns.

    >>> laid_out([(10, 4, 50, None, None, ["a"]), (10, 50, 90, 95, 99, ["a"])])
    (RowGroup(first=0, rows=10, start=0, end=50), RowGroup(first=10, rows=10, start=50, end=90))

    They are one if a part of one lies elsewhere: among the bytes of another, for example.

    >>> laid_out([(10, 4, 50, 60, 60, ["a"]), (10, 50, 90, None, None, ["a"])])
    (RowGroup(first=0, rows=20, start=0, end=90),)
    """
    if not found:
        return ()
    starts = [0, *(int(start) for _, start, *_ in found[1:])]
    tail = int(found[-1][2])
    groups, first = list[RowGroup](), 0
    for (rows, *_), (start, end) in zip(found, pairwise([*starts, tail]), strict=True):
        groups.append(RowGroup(first, int(rows), start, end))
        first += int(rows)
    fits = all(
        group.start < int(end) <= group.end
        and all(at is None or group.start <= at < group.end or at >= tail for at in filters)
        for group, (_, _, end, *filters, _) in zip(groups, found, strict=True)
    )
    if not fits or hides_places(found[0][-1]):
        return (RowGroup(0, first, 0, max(tail, *(int(end) for _, _, end, *_ in found))),)
    return tuple(groups)
