"""The tree of partial sums, with the nodes that make up one count.

The table has the columns ``panel``, ``level`` (0: single steps), ``first``, ``last`` (the
steps that a node sums) and ``role``: "added", "subtracted" or "unused".
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ameles.plot.canvas import BLUE, GREY, INK, ORANGE, canvas
from ameles.plot.table import PlotTable

LOOKS = {
    "added": {"facecolor": BLUE, "edgecolor": BLUE},
    "subtracted": {"facecolor": "white", "edgecolor": ORANGE, "hatch": "/////"},
    "unused": {"facecolor": "white", "edgecolor": "#bbbbbb"},
}


def covering_nodes(table: PlotTable, file: Path) -> None:
    """Draws a tree of partial sums: a row of boxes for each level, as wide as the steps they sum.

    The table has the columns ``panel``, ``level``, ``first``, ``last`` and ``role``, which is
    "added", "subtracted" or "unused".

    >>> from tempfile import TemporaryDirectory
    >>> rows = [
    ...     ("t = 1", 0, 1, 1, "added"),
    ...     ("t = 1", 0, 2, 2, "unused"),
    ...     ("t = 1", 1, 1, 2, "unused"),
    ... ]
    >>> table = PlotTable(("panel", "level", "first", "last", "role"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     covering_nodes(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("panel", "level", "first", "last", "role")
    panels = table.values("panel")
    with canvas(file, 7.4, sum(_height(table.where(panel=panel)) for panel in panels) + 0.3) as fig:
        heights = [_height(table.where(panel=panel)) for panel in panels]
        axes = fig.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, ax in zip(panels, axes, strict=True):
            _tree(ax, table.where(panel=panel))
            ax.set_title(panel)
        axes[-1].set_xlabel("step")
        rectangle = importlib.import_module("matplotlib.patches").Rectangle
        used = [role for role in LOOKS if role in table.column("role")]
        handles = [rectangle((0, 0), 1, 1, **LOOKS[role]) for role in used]
        fig.legend(handles, used, loc="outside right center", title="node", alignment="left")


def _height(part: PlotTable) -> float:
    return 0.75 + 0.36 * len(part.values("level"))


def _tree(ax: Any, part: PlotTable) -> None:
    rectangle = importlib.import_module("matplotlib.patches").Rectangle
    for level, first, last, role in zip(
        *(part.column(head) for head in ("level", "first", "last", "role")), strict=True
    ):
        # inside its cell, so that neighbours do not share an edge
        box = rectangle(
            (first - 0.94 + 0.5, level - 0.36), last - first + 0.88, 0.72, **LOOKS[role]
        )
        ax.add_patch(box)
        text = f"{first}" if first == last else f"{first}–{last}"
        colour = "white" if role == "added" else INK if role == "subtracted" else GREY
        back = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        ax.text(
            (first + last) / 2,
            level,
            text,
            ha="center",
            va="center",
            fontsize=7.5,
            color=colour,
            bbox=back if role == "subtracted" else None,
        )
    steps, levels = max(part.column("last")), part.values("level")
    ax.set_xlim(0.4, steps + 0.6)
    ax.set_ylim(-0.6, len(levels) - 0.4)
    ax.set_xticks([])
    ax.set_yticks(sorted(levels), [f"level {level}" for level in sorted(levels)])
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
