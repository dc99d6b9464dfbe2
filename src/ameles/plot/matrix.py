"""The noise matrix L: which draw enters which release, and with what weight.

The table has the columns ``mechanism``, ``t``, ``draw`` and ``weight``; zeros may be left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ameles.plot.canvas import GREY, canvas
from ameles.plot.table import PlotTable


def noise_matrices(table: PlotTable, file: Path) -> None:
    """Draws a heat map for each mechanism: blue noise is added, red noise subtracted.

    The table has the columns ``mechanism``, ``t``, ``draw`` and ``weight``; zeros may be missing.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("Binary", 1, 1, 1), ("Binary", 2, 2, 1)]
    >>> table = PlotTable(("mechanism", "t", "draw", "weight"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     noise_matrices(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("mechanism", "t", "draw", "weight")
    names = table.values("mechanism")
    parts = [table.where(mechanism=name) for name in names]
    widths = [max(part.column("draw")) for part in parts]
    with canvas(file, 8.6, 3.6) as figure:
        axes = figure.subplots(1, len(names), squeeze=False, width_ratios=widths)[0]
        for name, part, ax in zip(names, parts, axes, strict=True):
            shown = ax.imshow(
                _dense(part),
                cmap="RdBu",
                vmin=-1,
                vmax=1,
                interpolation="nearest",
                aspect="auto",
                extent=(0.5, max(part.column("draw")) + 0.5, max(part.column("t")) + 0.5, 0.5),
            )
            ax.set_title(name)
            ax.set_xlabel("draw of noise")
            for side in ax.spines.values():
                side.set_visible(True)
                side.set_color(GREY)
        axes[0].set_ylabel("release, step t")
        figure.colorbar(shown, ax=list(axes), label="weight", ticks=[-1, -0.5, 0, 0.5, 1])


def _dense(part: PlotTable) -> Any:
    t, draw, weight = (part.column(head) for head in ("t", "draw", "weight"))
    dense = np.zeros((max(t), max(draw)))
    dense[np.array(t) - 1, np.array(draw) - 1] = weight
    return dense
