"""Tables in memory: data frames of pandas, Polars and others, and Arrow tables."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from ameles.connectors.duck import connect, quiet
from ameles.core.exceptions import BadInput
from ameles.engine.gathering.temporary_tables import TemporaryTables
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
    """The rows of a data frame.  The frame must not change while it is asked."""

    def __init__(self, frame: Frame, columns: Mapping[str, str] | None, user: str | None) -> None:
        self._frame = _readable(frame)
        with closing(connect(zone=ZONE, memory=_LOOK)) as duck, quiet("looking at a data frame"):
            duck.register(_NAME, self._frame)
            self._types = described(duck, _NAME)
        super().__init__(declared_or_found(columns, self._types), user)
        typed_relation(self, _NAME, self._types, "The data frame")

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


def _with_texts(frame: Frame) -> Frame:
    """A frame of pandas whose columns of objects, which may be of any type, are texts.

    A type for such a column would be found in the data, where one row can change it.
    """
    objects = [name for name, dtype in frame.dtypes.items() if str(dtype) == "object"]
    texts = {n: frame[n].map(str, na_action="ignore").astype("string") for n in objects}
    return frame.assign(**texts) if texts else frame


def _readable(frame: Frame) -> Frame:
    """The frame in a form that DuckDB can scan again and again."""
    kind = type(frame)
    if kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        frame = _with_texts(frame)
        if not hasattr(frame, "__arrow_c_stream__"):
            return frame
    if kind.__module__.startswith("pyarrow") and kind.__name__ in ("Table", "RecordBatch"):
        return frame
    if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        frame = frame.collect()  # a lazy frame
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            arrow = importlib.import_module("pyarrow")
        except ImportError:
            arrow = None
        return frame if arrow is None else arrow.table(frame)
    raise BadInput(
        f"A table must be a data frame. Got a {kind.__name__} instead.",
        tip="pandas, Polars, an Arrow table, or anything else with the Arrow interface",
    )
