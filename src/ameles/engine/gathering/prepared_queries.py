"""Prepared queries: a query that returns step after step is planned once.

Planning takes most of the time of a query on a few lines.  A prepared query reads the array that
its view had when it was planned, so it may only read views that stay
(``connectors/text/view.py``).  Its plan keeps the sums of its last run until the next one, so it is
not for streams whose state may be seized.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from weakref import WeakKeyDictionary

import duckdb

MOST = 8  # prepared queries of a connection; the oldest goes first
_NAMES: WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, str]] = WeakKeyDictionary()
_NUMBERS = count(1)


@dataclass
class Numbers:
    """The numbers of a query that differ from step to step, in their order."""

    values: list[int] = field(default_factory=list)

    def add(self, value: int) -> str:
        """SQL: the place of the next number."""
        self.values.append(value)
        return f"${len(self.values)}::BIGINT"


def run_prepared(
    duck: duckdb.DuckDBPyConnection, query: str, numbers: Numbers | None = None
) -> duckdb.DuckDBPyConnection:
    """Runs a query with these numbers; returns where its rows can be fetched."""
    names = _NAMES.setdefault(duck, {})
    name = names.get(query)
    if name is None:
        if len(names) >= MOST:
            duck.execute(f"DEALLOCATE {names.pop(next(iter(names)))}")
        name = f"prepared_{next(_NUMBERS)}"
        duck.execute(f"PREPARE {name} AS {query}")
        names[query] = name
    # With a type, because a number of another type would be planned anew.
    given = ", ".join(f"{value}::BIGINT" for value in numbers.values) if numbers else ""
    return duck.execute(f"EXECUTE {name}({given})" if given else f"EXECUTE {name}")
