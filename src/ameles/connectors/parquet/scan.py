"""SQL that scans Parquet files, and finds ids of users and keys whose characters are broken.

Broken UTF-8 would fail the query for all rows, so DuckDB replaces it in its own value: a question
mark stands for each broken byte.  Different ids would then look alike, and also like an id that has
question marks of its own.  Two users would be one, and each could change which events of the other
count.  So a broken id is no id, and a broken text is no key.

DuckDB can also ignore broken bytes.  A value is broken if the two ways give different texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb

from ameles.connectors.duck import quiet
from ameles.measures.fields import literal

_PLACE = ("file_index", "file_row_number")  # DuckDB's own columns: where a row is
_MARK = "'?'"


def scan(paths: Sequence[str], broken: str = "replace", rows: tuple[int, int] | None = None) -> str:
    """SQL: all rows of files; ``broken`` says what happens to broken bytes.

    With ``rows``, only those from one number to another: DuckDB reads no other row groups.
    """
    options = f"hive_partitioning = false, utf8_validation = {literal(broken)}"
    every = f"read_parquet([{', '.join(map(literal, paths))}], {options})"
    if rows is None:
        return every
    index, number = _PLACE
    return (
        f"(SELECT *, {index}, {number} FROM {every} WHERE {number} BETWEEN {rows[0]} AND {rows[1]})"
    )


def may_be_broken(duck: duckdb.DuckDBPyConnection, scanned: str, columns: Sequence[str]) -> bool:
    """Whether a value of text columns, given as SQL, has a question mark in what is scanned."""
    asked = f"SELECT bool_or({_marked(columns)}) FROM {scanned}"
    with quiet("reading a Parquet file"):
        [(broken,)] = duck.execute(asked).fetchall()
    return bool(broken)


def sound_scan(paths: Sequence[str], columns: Sequence[str]) -> str:
    """SQL: all rows of files, with NULL for broken values of text columns.

    Only the rows with a question mark are looked up a second time, by their place.
    """
    index, number = _PLACE
    kept = ", ".join(f"{column} AS kept_{place}" for place, column in enumerate(columns))
    second = (
        f"SELECT {index} AS of_file, {number} AS of_row, {kept} "
        f"FROM {scan(paths, 'ignore')} WHERE {_marked(columns)}"
    )
    sound = ", ".join(
        f"CASE WHEN NOT contains(given.{column}, {_MARK}) OR given.{column} = second.kept_{place} "
        f"THEN given.{column} END AS {column}"
        for place, column in enumerate(columns)
    )
    return (
        f"(SELECT given.* REPLACE ({sound}) FROM {scan(paths)} AS given "
        f"LEFT JOIN ({second}) AS second "
        f"ON given.{index} = second.of_file AND given.{number} = second.of_row)"
    )


def _marked(columns: Sequence[str]) -> str:
    """SQL: whether one of some texts has a question mark; never NULL."""
    marked = (f"coalesce(contains({column}, {_MARK}), false)" for column in columns)
    return " OR ".join(marked)


def hides_places(names: Collection[str]) -> bool:
    """Whether columns of a file have the names by which DuckDB says where a row is.

    >>> hides_places(["at", "File_Index"]), hides_places(["at", "who"])
    (True, False)
    """
    return any(name.lower() in _PLACE for name in names)


def without_marks(given: str) -> str:
    """SQL: a text if it has no question mark, for files in which ``sound_scan`` cannot look."""
    return f"CASE WHEN NOT contains({given}, {_MARK}) THEN {given} END"
