"""Mechanisms side by side: the mean and the worst error of each, the best on top.

The table has the columns ``mechanism``, ``mean``, ``worst`` and ``to_best``.
"""

from __future__ import annotations

from pathlib import Path

from ameles.plot.canvas import BLUE, GREY, INK, PALE, canvas, log_axis, number
from ameles.plot.table import PlotTable


def side_by_side(table: PlotTable, file: Path) -> None:
    """Draws the mean and the worst error of each mechanism, the best on top.

    The table has the columns ``mechanism``, ``mean``, ``worst`` and ``to_best``.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("Siblings", 12.0, 14.0, 1.0), ("Binary", 35.0, 49.0, 2.9)]
    >>> table = PlotTable(("mechanism", "mean", "worst", "to_best"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     side_by_side(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("mechanism", "mean", "worst", "to_best")
    names = table.column("mechanism")
    mean, worst, ratio = (table.column(head) for head in ("mean", "worst", "to_best"))
    places = range(len(names))
    with canvas(file, 7.4, 1.2 + 0.32 * len(names)) as figure:
        ax = figure.subplots()
        ax.hlines(places, mean, worst, color=GREY, linewidth=1)
        ax.plot(mean, places, "o", color=BLUE, markersize=6, label="mean")
        ax.plot(worst, places, "|", color=INK, markersize=9, markeredgewidth=1.5, label="worst")
        for place, right, times in zip(places, worst, ratio, strict=True):
            ax.annotate(
                f"× {number(round(times, 2 if times < 100 else 0))}",
                (right, place),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                color=GREY,
                fontsize=8,
            )
        ax.set_xscale("log")
        ax.set_xlim(min(mean) / 1.5, max(worst) * (max(worst) / min(mean)) ** 0.18)
        log_axis(ax.xaxis)
        ax.set_yticks(list(places), names)
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", which="minor", color=PALE)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=True, axis="x")
        ax.set_xlabel("standard deviation of the count")
        ax.legend(loc="upper right")
