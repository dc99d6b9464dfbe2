"""Error against T or against epsilon: lines from theory, measured points, and lower bounds.

The table has the columns ``panel``, ``mechanism``, ``kind`` ("theory", "measured" or
"bound"), ``x`` and ``y``; each panel is a quantity and gets its own axes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ameles.plot.canvas import GREY, INK, PALE, Pen, canvas, log_axis, pens
from ameles.plot.table import PlotTable


def error_against_horizon(table: PlotTable, file: Path) -> None:
    """Draws how the error grows with the length of the stream.

    The table has the columns ``panel``, ``mechanism``, ``kind``, ``x`` and ``y``; ``kind`` is
    "theory" for a line, "measured" for points, "bound" for a lower bound that no mechanism can
    beat.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("std", "Binary", "theory", 16, 9.0), ("std", "Binary", "theory", 64, 12.0)]
    >>> table = PlotTable(("panel", "mechanism", "kind", "x", "y"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     error_against_horizon(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    _draw(table, file, "steps of the stream, T", powers=True)


def error_against_epsilon(table: PlotTable, file: Path) -> None:
    """Draws how the error falls as the privacy loss grows.

    The table has the columns ``panel``, ``mechanism``, ``kind``, ``x`` and ``y``; ``kind`` is
    "theory" for a line, "measured" for points, "bound" for a lower bound that no mechanism can
    beat.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("std", "Binary", "theory", 0.1, 90.0), ("std", "Binary", "theory", 1, 9.0)]
    >>> table = PlotTable(("panel", "mechanism", "kind", "x", "y"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     error_against_epsilon(table, Path(folder, "picture.svg"))
    ...     Path(folder, "picture.svg").exists()
    True
    """
    _draw(table, file, "privacy loss, epsilon", powers=False)


def _draw(table: PlotTable, file: Path, label: str, *, powers: bool) -> None:
    table.check("panel", "mechanism", "kind", "x", "y")
    panels = table.values("panel")
    with canvas(file, 3.9 * len(panels) + 1.3, 3.8) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        colours = pens(table.values("mechanism"))
        for panel, ax in zip(panels, axes, strict=True):
            part = table.where(panel=panel)
            for name in part.values("mechanism"):
                _name(ax, part.where(mechanism=name), name, colours[name])
            ax.set_title(panel)
            ax.set_xlabel(label)
            ax.set_xscale("log", base=2 if powers else 10)
            ax.set_yscale("log")
            log_axis(ax.yaxis)
            xs = sorted(set(part.column("x")))
            log_axis(ax.xaxis, _powers(xs) if powers else None)
            if powers:
                ax.xaxis.set_major_formatter(
                    lambda value, _: f"$2^{{{round(value).bit_length() - 1}}}$"
                )
            ax.grid(visible=True, which="major")
            ax.tick_params(which="minor", color=PALE)
        axes[0].set_ylabel("counts")
        _legend(figure, axes, table, colours)


def _name(ax: Any, part: PlotTable, name: str, pen: Pen) -> None:
    theory, measured, bound = (part.where(kind=kind) for kind in ("theory", "measured", "bound"))
    if theory.rows:
        x, y = theory.column("x"), theory.column("y")
        ax.plot(x, y, color=pen.colour, linestyle=pen.dashes, linewidth=1.4)
    if measured.rows:
        x, y = measured.column("x"), measured.column("y")
        ax.plot(x, y, pen.marker, color=pen.colour, markersize=4.5, markeredgewidth=1.2)
    if bound.rows:
        x, y = bound.column("x"), bound.column("y")
        ax.plot(x, y, color=INK, linewidth=1)
        ax.fill_between(x, [min(y) / 4] * len(x), y, color=PALE, linewidth=0)
        ax.set_ylim(bottom=min(y) / 4)
        # at the foot of the forbidden region, where few lines come
        ax.text(0.5, 0.05, name, transform=ax.transAxes, ha="center", color=INK)


def _legend(figure: Any, axes: Any, table: PlotTable, colours: dict[str, Pen]) -> None:
    """One for all panels, in the order in which the lines end on the right of the first."""
    ends = {
        name: part.column("y")[-1]
        for name in table.values("mechanism")
        if (part := table.where(mechanism=name, kind="theory", panel=table.values("panel")[0])).rows
    }
    handles, labels = [], []
    for name in sorted(ends, key=lambda name: -ends[name]):
        pen = colours[name]
        style = {"color": pen.colour, "linestyle": pen.dashes, "marker": pen.marker}
        handles += axes[0].plot([], [], markersize=4.5, linewidth=1.4, **style)
        labels.append(name)
    if table.where(kind="measured").rows:
        handles += axes[0].plot([], [], "o", color=GREY, markersize=4.5)
        labels.append("points: measured")
    figure.legend(handles, labels, loc="outside right center")


def _powers(xs: list[float]) -> list[float]:
    """Every second or fourth power of two, so that labels do not touch."""
    low, high = round(min(xs)).bit_length() - 1, round(max(xs)).bit_length() - 1
    step = 2 if high - low <= 12 else 4
    return [float(2**power) for power in range(low + -low % step, high + 1, step)]
