"""Tables with named columns, from which pictures are drawn; they are read and written as CSV.

>>> PlotTable(("t", "std"), [(1, 1.5), (2, 2.0)]).column("std")
[1.5, 2.0]
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ameles.core.exceptions import BadInput

Cell: TypeAlias = str | int | float


class PlotTable:
    """A table that a picture is drawn from: rows under named columns."""

    def __init__(self, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        self.heads = tuple(heads)
        self.rows = [tuple(row) for row in rows]
        if any(len(row) != len(self.heads) for row in self.rows):
            raise BadInput(f"Every row of this table must have {len(self.heads)} cells.")

    def column(self, head: str) -> list[Any]:
        """All cells under a head; the caller knows their type."""
        place = self._place(head)
        return [row[place] for row in self.rows]

    def values(self, head: str) -> list[Any]:
        """The different cells under a head, in their order."""
        return list(dict.fromkeys(self.column(head)))

    def where(self, **wanted: Cell) -> PlotTable:
        """The rows that have these cells."""
        places = {self._place(head): cell for head, cell in wanted.items()}
        kept = [row for row in self.rows if all(row[p] == cell for p, cell in places.items())]
        return PlotTable(self.heads, kept)

    def check(self, *heads: str) -> None:
        """Refuses a table that lacks one of these heads, or has no rows."""
        for head in heads:
            self._place(head)
        if not self.rows:
            raise BadInput("A picture needs a table with at least one row.")

    def text(self) -> str:
        """As CSV; floats with six digits, so that machines agree on them."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows([_written(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    def write(self, file: Path) -> None:
        """Into a CSV file."""
        file.write_text(self.text(), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> PlotTable:
        """What ``write`` wrote, up to the digits that it kept."""
        heads, *rows = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
        return cls(heads, [[_read(cell) for cell in row] for row in rows])

    def _place(self, head: str) -> int:
        if head not in self.heads:
            raise BadInput(
                f"This table has no column '{head}'.", why=f"it has {', '.join(self.heads)}"
            )
        return self.heads.index(head)


def _written(cell: Cell) -> Cell:
    return f"{cell:.6g}" if isinstance(cell, float) else cell


def _read(text: str) -> Cell:
    kinds: tuple[Callable[[str], Cell], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text
