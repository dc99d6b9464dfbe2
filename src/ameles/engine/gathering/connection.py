"""A DuckDB connection that is kept from one reading to the next."""

from __future__ import annotations

import duckdb

from ameles.connectors.duck import connect


class Connection:
    """One connection for as long as the files that DuckDB opens are the same."""

    def __init__(self, *, zone: str, memory: int) -> None:
        self._zone = zone
        self._memory = memory
        self._duck: duckdb.DuckDBPyConnection | None = None
        self._readable: tuple[str, ...] = ()

    def reading(self, readable: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
        """A connection that may open these files, and nothing else."""
        if self._readable != readable:
            self.close()
        if self._duck is None:
            self._duck = connect(zone=self._zone, memory=self._memory, readable=readable)
            self._readable = readable
        return self._duck

    def close(self) -> None:
        """Frees DuckDB's buffers."""
        if self._duck is not None:
            self._duck.close()
            self._duck = None
