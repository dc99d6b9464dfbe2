"""The nodes of a counter as shapes, and how much of each is in one count.

The table has the columns ``panel``, ``level`` (0: single steps), ``node``, ``x``, ``y`` (a corner
of the shape, of height 0 to 1) and ``counts``, how much of the node is in the count.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ameles.plot.canvas import BLUE, GREY, canvas
from ameles.plot.table import PlotTable

# A node of which less counts is not shaded.
VISIBLE = 0.005


def node_shapes(table: PlotTable, file: Path) -> None:
    """Draws a row of shapes for each level, the darker the more of a node counts.

    The table has the columns ``panel``, ``level``, ``node``, ``x``, ``y`` and ``counts``.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("t = 1", 1, 0, 0, 1.0, 0.5), ("t = 1", 1, 0, 4, 0.0, 0.5)]
    >>> table = PlotTable(("panel", "level", "node", "x", "y", "counts"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     node_shapes(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("panel", "level", "node", "x", "y", "counts")
    panels = table.values("panel")
    with canvas(file, 7.4, 2.1 * len(panels) + 0.3) as figure:
        axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for panel, ax in zip(panels, axes, strict=True):
            _panel(ax, table.where(panel=panel))
            ax.set_title(panel)
        axes[-1].set_xlabel("step")


def _panel(ax: Any, part: PlotTable) -> None:
    levels = sorted(part.values("level"))
    for level in levels:
        row = part.where(level=level)
        places: list[float] = []
        heights: list[float] = []
        for node in row.values("node"):
            shape = row.where(node=node)
            corners = [level + 0.85 * y for y in shape.column("y")]
            counts = min(1.0, abs(shape.column("counts")[0]))
            if counts > VISIBLE:
                style = {"color": BLUE, "alpha": 0.75 * counts, "linewidth": 0}
                ax.fill_between(shape.column("x"), level, corners, **style)
            # one line for all nodes, lifted between them: each line of its own is a large file
            places += [*shape.column("x"), math.nan]
            heights += [*corners, math.nan]
        ax.plot(places, heights, color=GREY, linewidth=0.8)
    ax.set_ylim(levels[0] - 0.1, levels[-1] + 1)
    ax.set_yticks([level + 0.4 for level in levels], [f"level {level}" for level in levels])
    ax.tick_params(axis="y", length=0)
    for side in ax.spines.values():
        side.set_visible(False)
