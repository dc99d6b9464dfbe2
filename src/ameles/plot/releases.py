"""Releases over time: the published line with its band and, where people are made up, the truth.

The table has the columns ``panel``, ``step``, ``value``, ``low``, ``high``, and may have ``true``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ameles.plot.canvas import BLUE, INK, RED, canvas, number
from ameles.plot.table import PlotTable


def releases(
    table: PlotTable,
    file: Path,
    *,
    across: int = 2,
    step: str = "step",
    width: float = 4.2,
    height: float = 2.3,
) -> None:
    """Draws published numbers with their bands, one panel for each value of ``panel``.

    The table has the columns ``panel``, ``step``, ``value``, ``low`` and ``high``, and may have
    ``true``.  ``across`` panels stand in a row, each ``width`` by ``height`` inches; ``step`` names
    the steps.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("fever", 1, 3, -2, 8), ("fever", 2, 9, 4, 14)]
    >>> table = PlotTable(("panel", "step", "value", "low", "high"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     releases(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("panel", "step", "value", "low", "high")
    panels = table.values("panel")
    rows = -(-len(panels) // across)
    with canvas(file, width * min(across, len(panels)), height * rows + 0.5) as figure:
        axes = figure.subplots(rows, min(across, len(panels)), sharex=True, squeeze=False)
        for place, ax in enumerate(axes.flat):
            if place >= len(panels):
                ax.set_visible(False)
                continue
            _panel(ax, panels[place], table.where(panel=panels[place]))
        for ax in axes[-1]:
            ax.set_xlabel(step)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))


def _panel(ax: Any, title: str, here: PlotTable) -> None:
    steps = here.column("step")
    ax.fill_between(
        steps,
        here.column("low"),
        here.column("high"),
        color=BLUE,
        alpha=0.25,
        linewidth=0,
        step="mid",
        label="95% of the privacy noise",
    )
    ax.step(steps, here.column("value"), where="mid", color=BLUE, linewidth=1.1, label="released")
    if "true" in here.heads:
        ax.plot(steps, here.column("true"), color=RED, linewidth=0.9, linestyle="--", label="true")
    ax.axhline(0, color=INK, linewidth=0.5)
    ax.set_title(title)
    ax.set_xlim(min(steps), max(steps))
    ax.grid(visible=True, axis="y")
    ticker = importlib.import_module("matplotlib.ticker")
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
