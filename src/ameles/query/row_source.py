"""Where a table's rows come from: a relation of DuckDB with declared columns in their kinds.

A new kind of table is one class in a file of its own: it says its columns, and attaches its rows to
a connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import duckdb

from ameles.connectors.format import DEFAULT
from ameles.connectors.parquet.column_types import check_type
from ameles.connectors.typed_columns import IDS, Typed, check_kinds, typed
from ameles.connectors.user_ids import WHOLE_TYPES, parquet_id
from ameles.core.exceptions import BadInput
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier
from ameles.plan.condition_sql import TYPES
from ameles.query.connections import Connections

Duck = duckdb.DuckDBPyConnection

MEMORY = 4 << 30
_WIDE_TYPES = ("UBIGINT", "HUGEINT", "UHUGEINT")
ZONE = "UTC"


class RowsNow(ABC):
    """Rows that can be attached to a connection."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that DuckDB itself opens."""
        return ()

    @property
    def still(self) -> bool:
        """Whether its relation is surely the same at each reading, so that it need not be
        copied."""
        return False

    @abstractmethod
    def attached(self, tables: TemporaryTables, duck: Duck) -> AbstractContextManager[str]:
        """SQL: a relation with the columns in their kinds, valid within the ``with`` block."""


class RowSource(ABC):
    """Rows with public names and kinds of columns.

    ``label`` is the name of a table with these rows, unless its owner gives it another.
    """

    label: str | None = None
    coded = False  # whether values are coded, as in Parquet

    def __init__(self, columns: Mapping[str, str], user: str | None) -> None:
        if not columns:
            raise BadInput(
                "A table must have at least one column.", tip='columns={"age": "integer"}'
            )
        check_kinds(columns)
        if any("\n" in name for name in columns):
            raise BadInput(
                "The name of a column must be in one line.",
                why="Ameles uses names with a line break for its own columns",
                tip="columns={...} without it, or another name",
            )
        if user is not None and columns.get(user) not in IDS:
            raise BadInput(
                f"The user column '{user}' must be a column of texts or integers.",
                why="it shows which rows belong to one person",
                tip=f"one of {', '.join(columns)[:200]}",
            )
        self.columns = dict(columns)
        self.user = user
        self._connections = Connections(zone=ZONE, memory=MEMORY)

    def connected(self, paths: tuple[str, ...], *, once: bool) -> AbstractContextManager[Duck]:
        """A connection for one question; it may open these files.

        ``once`` says that the question reads the rows in a single statement.
        """
        return self._connections.lent(paths)

    def owns(self, duck: Duck) -> bool:
        """Whether a connection is its own, and not one that several tables share."""
        return self._connections.lends(duck)

    @abstractmethod
    def rows_now(self) -> RowsNow:
        """Its rows as they are at this moment: once for each question."""

    def rows_for_keys(self) -> RowsNow:
        """The same, for a question by keys: a text with broken characters is missing."""
        return self.rows_now()

    @property
    def read_kinds(self) -> dict[str, str]:
        """The kinds in which columns are read: ids of users have one canonical form."""
        return {n: IDS[k] if n == self.user else k for n, k in self.columns.items()}

    @property
    def names(self) -> str:
        """SQL: the columns, separated by commas."""
        return ", ".join(identifier(name) for name in self.columns)

    def empty_table(self, tables: TemporaryTables) -> str:
        """A table for its rows."""
        kinds = self.columns.items()
        return tables.create_empty(
            "rows", ", ".join(f"{identifier(n)} {TYPES[k]}" for n, k in kinds)
        )


class _Stream:
    """Rows that another connection of DuckDB reads, once."""

    def __init__(self, rows: duckdb.DuckDBPyRelation) -> None:
        self._rows: Any = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__()


@contextmanager
def streamed(rows: duckdb.DuckDBPyRelation, duck: Duck) -> Iterator[str]:
    """SQL: a relation of a connection with the rows of another one, to be read once.

    Its texts have no collation.
    """
    name = f"stream_{id(rows)}"
    duck.register(name, _Stream(rows))
    try:
        yield name
    finally:
        duck.unregister(name)


def described(duck: Duck, relation: str) -> dict[str, str]:
    """The columns of a relation, with DuckDB's types."""
    rows = duck.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {name: type_name for name, type_name, *_ in rows}


def kinds_of(types: Mapping[str, str]) -> dict[str, str]:
    """The kind that each column has by its type; a column without one is left out.

    >>> kinds_of({"id": "UINTEGER", "age": "DECIMAL(3,1)", "at": "TIMESTAMP_NS", "a": "INTEGER[]"})
    {'id': 'integer', 'age': 'number', 'at': 'timestamp'}
    """
    kinds = {name: _kind_of(type_name) for name, type_name in types.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind_of(type_name: str) -> str | None:
    if type_name.endswith("]"):
        return None
    if type_name in WHOLE_TYPES:
        return "integer"
    if type_name in ("VARCHAR", "UUID") or type_name.startswith("ENUM"):
        return "text"
    if type_name.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
        return "number"
    if type_name.startswith(("TIMESTAMP", "DATE")):
        return "timestamp"
    return "boolean" if type_name == "BOOLEAN" else None


def typed_relation(source: RowSource, relation: str, types: Mapping[str, str], called: str) -> str:
    """SQL: a relation of DuckDB with the declared columns in their kinds."""
    columns = []
    holder = f"{called[0].lower()}{called[1:]}"
    for name, kind in source.read_kinds.items():
        if name not in types:
            raise BadInput(
                f"{called} has no column '{name}'.", tip=f"one of {', '.join(types)[:200]}"
            )
        given, held = identifier(name), types[name]
        check_type(name, kind, held, DEFAULT, holder)
        if kind in IDS.values() and not (kind == IDS["integer"] and held in WHOLE_TYPES):
            given, held = parquet_id(given, held, holder, name), "VARCHAR"
        columns.append(Typed(name, kind, given, held, identifier(name)))
    return typed(columns, relation)


def declared_or_found(
    declared: Mapping[str, str] | None, types: Mapping[str, str], user: str | None
) -> dict[str, str]:
    """The kinds that a person declared; otherwise those that follow from the types."""
    if declared is not None:
        return dict(declared)
    kinds = kinds_of(types)
    if user in kinds and types[user] in _WIDE_TYPES:
        kinds[user] = "text"  # a hash, say: not every one is an integer of 64 bits with a sign
    return kinds


Frame = Any  # what has columns in memory: pandas, Polars, Arrow
