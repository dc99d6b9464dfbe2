"""Error within one stream: how the noise of a release depends on its step.

The table has the columns ``mechanism``, ``kind`` ("theory" or "measured"), ``t``, ``std``.
"""

from __future__ import annotations

from pathlib import Path

from ameles.plot.canvas import canvas, pens
from ameles.plot.table import PlotTable


def error_within_stream(table: PlotTable, file: Path) -> None:
    """Draws the standard deviation of each mechanism over the steps of a stream.

    The table has the columns ``mechanism``, ``kind`` ("theory" or "measured"), ``t``, ``std``.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("Binary", "theory", 1, 7.0), ("Binary", "theory", 2, 9.9)]
    >>> table = PlotTable(("mechanism", "kind", "t", "std"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     error_within_stream(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("mechanism", "kind", "t", "std")
    with canvas(file, 7.4, 3.6) as figure:
        ax = figure.subplots()
        colours = pens(table.values("mechanism"))
        for name, pen in colours.items():
            theory = table.where(mechanism=name, kind="theory")
            measured = table.where(mechanism=name, kind="measured")
            style = {"color": pen.colour, "linestyle": pen.dashes}
            ax.step(
                theory.column("t"),
                theory.column("std"),
                where="mid",
                linewidth=1,
                label=name,
                **style,
            )
            if measured.rows:
                ax.plot(
                    measured.column("t"),
                    measured.column("std"),
                    pen.marker,
                    color=pen.colour,
                    markersize=4,
                )
        ax.set_xlabel("step t")
        ax.set_ylabel("standard deviation of the count")
        ax.set_xlim(0, max(table.column("t")) * 1.01)
        ax.set_ylim(bottom=0)
        ax.grid(visible=True, axis="y")
        figure.legend(loc="outside right center")
