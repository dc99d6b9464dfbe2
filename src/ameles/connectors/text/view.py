"""The view from which DuckDB reads lines: one array a connection, which is filled again and again.

DuckDB keeps the array that a view had when a query was planned.  If a block of lines came as a new
array, every query on it would have to be planned anew; and one that was prepared before would read
the old lines once more.  So the array of a connection is registered once, and never replaced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.connectors.duck import quiet

SLOTS = 256  # chunks of a block; more are shown in several turns
FEW = 128  # lines that Python adds up faster than DuckDB can begin to


class SteadyRelation(str):
    """SQL of a relation over a view that stays: a query on it may be prepared, and run again."""

    __slots__ = ()


class FewLines(SteadyRelation):
    """The same, with at most ``FEW`` rows."""

    __slots__ = ()


@dataclass
class _View:
    """The array of a connection, and who filled it last."""

    held: NDArray[np.object_] = field(default_factory=lambda: np.full(SLOTS, "", dtype=object))
    turn: object = None


_VIEWS: WeakKeyDictionary[duckdb.DuckDBPyConnection, _View] = WeakKeyDictionary()


@contextlib.contextmanager
def shown(duck: duckdb.DuckDBPyConnection, name: str, chunks: Sequence[str]) -> Iterator[None]:
    """Lets the view have these chunks; after the block it has none."""
    view = _VIEWS.get(duck)
    if view is None:
        view = _View()
        with quiet("reading lines"):
            duck.register(name, {"chunk": view.held, "number": np.arange(SLOTS)})
        _VIEWS[duck] = view
    turn = view.turn = object()
    try:
        view.held.fill("")
        view.held[: len(chunks)] = chunks
        yield
    finally:
        if view.turn is turn:  # a reading that failed may end after the next one has begun
            view.held.fill("")
