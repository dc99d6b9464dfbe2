"""Answers of questions about tables: one point with its interval for each key.

The table has the columns ``key``, ``value``, ``low`` and ``high``.
"""

from __future__ import annotations

from pathlib import Path

from ameles.plot.canvas import BLUE, GREY, canvas
from ameles.plot.table import PlotTable


def answers(table: PlotTable, file: Path, *, value: str = "value") -> None:
    """Draws each value as a point, with its interval as a line; ``value`` says what it is.

    The table has the columns ``key``, ``value``, ``low`` and ``high``.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("north", 12, 9, 15), ("south", 4, 1, 7)]
    >>> table = PlotTable(("key", "value", "low", "high"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     answers(table, Path(folder, "picture.svg"), value="visits")
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("key", "value", "low", "high")
    names = [str(key) for key in table.column("key")]
    value_of, low, high = (table.column(head) for head in ("value", "low", "high"))
    places = range(len(names))
    with canvas(file, 7.4, 1.2 + 0.32 * len(names)) as figure:
        ax = figure.subplots()
        ax.hlines(places, low, high, color=GREY, linewidth=2)
        ax.plot(value_of, places, "o", color=BLUE, markersize=6)
        ax.set_yticks(list(places), names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=True, axis="x")
        ax.set_xlabel(f"{value}, with its 95% interval")
