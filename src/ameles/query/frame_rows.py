"""Tables in memory: data frames of pandas, Polars and others, and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import duckdb

from ameles.connectors.duck import connect
from ameles.core.exceptions import BadInput
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.query.frame_values import arrow_table, sound_columns
from ameles.query.row_source import (
    ZONE,
    Duck,
    Frame,
    RowsNow,
    RowSource,
    declared_or_found,
    described,
    typed_relation,
)

_LOOK = 256 << 20
_NAME = "frame"


class FrameRows(RowSource, RowsNow):
    """The rows of a data frame, copied: it may share its values with a program that writes them.

    While DuckDB reads a value twice, to compare it and to add it, it must not become another one.
    """

    still = True

    def __init__(self, frame: Frame, columns: Mapping[str, str] | None, user: str | None) -> None:
        table = arrow_table(frame, columns)
        types = _types_of(table)
        super().__init__(declared_or_found(columns, types, user), user)
        typed_relation(self, _NAME, types, "The data frame")
        # no other columns: DuckDB might fail at a value in one of them
        named = {place: name for place, name in enumerate(types) if name in self.columns}
        self._frame, self._types = sound_columns(table, named), types

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        name = f"{_NAME}_{id(self._frame)}"
        duck.register(name, self._frame)
        try:
            yield typed_relation(self, name, self._types, "The data frame")
        finally:
            duck.unregister(name)


def _types_of(table: Frame) -> dict[str, str]:
    if not table.num_columns:
        return {}
    with closing(connect(zone=ZONE, memory=_LOOK)) as duck:
        try:
            duck.register(_NAME, table)
            return described(duck, _NAME)
        except duckdb.Error:
            raise BadInput(
                "The data frame has a column of a type that DuckDB cannot read.",
                tip="a frame without it; half floats and decimals of 256 bits are such types",
            ) from None
