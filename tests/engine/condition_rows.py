"""Typed rows, and which of them a condition holds for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import duckdb

from ameles.connectors.duck import connect
from ameles.plan.condition import check_condition
from ameles.plan.condition_sql import TYPES

COLUMNS = {
    "age": "integer",
    "n": "integer",
    "x": "number",
    "region": "text",
    "other": "text",
    "fever": "boolean",
    "at": "timestamp",
    "a b": "text",
}
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@cache
def shared() -> duckdb.DuckDBPyConnection:
    return connect(zone="UTC", memory=256 << 20)


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"'{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


def fill(rows: Sequence[dict[str, Any]]) -> None:
    """A table of typed rows, with their numbers."""
    duck = shared()
    kinds = ", ".join(f'"{name}" {TYPES[kind]}' for name, kind in COLUMNS.items())
    duck.execute(f"CREATE OR REPLACE TABLE rows (place BIGINT, {kinds})").fetchall()
    values = [
        f"({place}, {', '.join(literal(row.get(name)) for name in COLUMNS)})"
        for place, row in enumerate(rows)
    ]
    if values:
        duck.execute(f"INSERT INTO rows VALUES {', '.join(values)}").fetchall()


def chosen(*conditions: str) -> list[tuple[bool, ...]]:
    """Which rows of the table each condition is true for, all asked in one query."""
    asked = ", ".join(
        f"TRY(({check_condition(condition, COLUMNS)})) IS TRUE" for condition in conditions
    )
    return shared().execute(f"SELECT {asked} FROM rows ORDER BY place").fetchall()
