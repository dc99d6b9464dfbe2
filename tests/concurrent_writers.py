"""Writers of one table, whose transactions overlap in any order, with savepoints and two phases."""

from __future__ import annotations

from itertools import count
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.event_tables import EventTable
from tests.faults.choices import Choices

DEEDS = ("add", "add", "add", "save", "undo", "commit", "commit", "roll", "prepare", "settle")


class Writers:
    """``due`` has everybody who was committed and not read."""

    def __init__(self, table: EventTable, draw: Choices, many: int = 8) -> None:
        self.table = table
        self.due: list[str] = []
        self._draw = draw
        self._numbers = count()
        self._held: list[list[str] | None] = [None] * many  # who is in the open transactions
        self._prepared: dict[str, list[str]] = {}
        self._connections: list[psycopg.Connection[tuple[Any, ...]]] = []

    def __enter__(self) -> Self:
        self._connections = [self.table.connect() for _ in self._held]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection in self._connections:
            connection.close()
        with self.table.connect() as other:
            for name in self._prepared:
                other.execute(f"ROLLBACK PREPARED '{name}'")

    def lost(self) -> None:
        """All connections are gone, and with them what was neither committed nor prepared."""
        for connection in self._connections:
            connection.close()
        self._held = [None] * len(self._held)
        self._connections = [self.table.connect() for _ in self._held]

    def move(self) -> None:
        """One statement of one writer."""
        place = self._draw.below(len(self._held))
        deed = DEEDS[self._draw.below(len(DEEDS))]
        writer, mine = self._connections[place], self._held[place]
        if deed == "settle" and self._prepared:
            self._settle()
        elif mine is None:
            writer.execute("BEGIN")
            self._held[place] = []
        elif deed == "save":
            writer.execute("SAVEPOINT s")
        elif deed == "undo":
            writer.execute("SAVEPOINT u")
            self.table.add("undone", by=writer)
            writer.execute("ROLLBACK TO u")
        elif deed in ("commit", "roll"):
            self._held[place] = None
            writer.execute("COMMIT" if deed == "commit" else "ROLLBACK")
            self.due += mine if deed == "commit" else []
        elif deed == "prepare" and len(self._prepared) < 4:
            name = f"{self.table.name}_{next(self._numbers)}"
            writer.execute(f"PREPARE TRANSACTION '{name}'")
            self._prepared[name], self._held[place] = mine, None
        else:
            who = f"{next(self._numbers):06}"
            self.table.add(who, by=writer)
            mine.append(who)

    def _settle(self) -> None:
        """The second phase of a transaction, by another connection than the first one."""
        name, who = self._prepared.popitem()
        kept = self._draw.chance(70)
        with self.table.connect() as other:
            other.execute(f"{'COMMIT' if kept else 'ROLLBACK'} PREPARED '{name}'")
        self.due += who if kept else []
