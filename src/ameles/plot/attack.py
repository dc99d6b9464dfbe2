"""Attacks: how far the attacker came against each way to publish.

The table has the columns ``target``, ``effort``, ``reached`` and ``allowed``.  An empty cell under
``effort``: the attack has no such measure; under ``allowed``: nothing is promised.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

from ameles.plot.canvas import BLUE, GREY, INK, ORANGE, RED, SKY, canvas, log_axis, number
from ameles.plot.table import PlotTable

WEAK, SAFE = (RED, ORANGE), (BLUE, SKY)  # colours of lines without and with a guarantee
WRAPPED = 34


def attack(
    table: PlotTable,
    file: Path,
    *,
    measure: str,
    blind: float,
    effort: str = "",
    share: bool = True,
) -> None:
    """Draws what was reached against each target: bars, or lines over the attacker's effort.

    The table has the columns ``target``, ``effort``, ``reached`` and ``allowed``; empty cells are
    empty texts.  ``blind`` is what an attacker reaches who does not look.

    >>> from tempfile import TemporaryDirectory
    >>> rows = [("exact counts", "", 1.0, ""), ("private counts", "", 0.57, 0.73)]
    >>> table = PlotTable(("target", "effort", "reached", "allowed"), rows)
    >>> with TemporaryDirectory() as folder:
    ...     attack(table, Path(folder, "picture.svg"), measure="games won", blind=0.5)
    ...     Path(folder, "picture.svg").exists()
    True
    """
    table.check("target", "effort", "reached", "allowed")
    (_lines if effort else _bars)(table, file, measure, blind, effort, share)


def _colours(table: PlotTable) -> dict[str, str]:
    """Warm colours where nothing is promised, cold ones where something is."""
    weak, safe = iter(WEAK * len(table.rows)), iter(SAFE * len(table.rows))
    return {
        name: next(weak if table.where(target=name).column("allowed")[0] == "" else safe)
        for name in table.values("target")
    }


def _bars(table: PlotTable, file: Path, measure: str, blind: float, _: str, share: bool) -> None:
    with canvas(file, 7.4, 1.3 + 0.44 * len(table.rows)) as figure:
        ax = figure.subplots()
        names = table.column("target")
        places = range(len(names))
        reached, allowed = table.column("reached"), table.column("allowed")
        colours = [WEAK[0] if most == "" else SAFE[0] for most in allowed]
        ax.barh(places, reached, height=0.55, color=colours)
        ax.axvline(blind, color=INK, linestyle="--", linewidth=1, label="without looking")
        bounds = [(place, most) for place, most in zip(places, allowed, strict=True) if most != ""]
        if bounds:
            at, most = zip(*bounds, strict=True)
            ax.plot(most, at, "|", color=INK, markersize=16, markeredgewidth=2, label="allowed")
        for place, value in zip(places, reached, strict=True):
            ax.annotate(
                _cell(value, share),
                (0, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                color="white",
                fontsize=8,
            )
        ax.set_yticks(list(places), [fill(name, WRAPPED) for name in names])
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(measure)
        _scale(ax.xaxis, ax.set_xlim, share)
        figure.legend(loc="outside upper right", ncols=2)


def _lines(
    table: PlotTable, file: Path, measure: str, blind: float, effort: str, share: bool
) -> None:
    colours = _colours(table)
    with canvas(file, 7.4, 3.6) as figure:
        ax = figure.subplots()
        steps = [step for step in table.values("effort") if step != ""]
        for name in table.values("target"):
            part = table.where(target=name)
            if part.column("effort")[0] == "":
                continue  # of another kind: it is in the table, not on this axis
            x, y = part.column("effort"), part.column("reached")
            ax.plot(x, y, "o-", color=colours[name], markersize=4.5, label=fill(name, WRAPPED))
            if part.column("allowed")[0] != "":
                bound = part.column("allowed")
                ax.plot(x, bound, linestyle=":", color=colours[name], linewidth=1.2)
        ax.plot([], [], linestyle=":", color=GREY, label="dotted: allowed")
        ax.axhline(blind, color=INK, linestyle="--", linewidth=1, label="without looking")
        ax.set_xscale("log", base=2)
        log_axis(ax.xaxis, [float(step) for step in steps])
        ax.set_xlabel(effort)
        ax.set_ylabel(fill(measure, WRAPPED))
        ax.grid(visible=True, axis="y")
        if not share:  # numbers below 1 are seen beside large ones
            ax.set_yscale("symlog", linthresh=1)
            ax.set_ylim(-0.1, 1.5 * max(table.column("reached")))
        _scale(ax.yaxis, ax.set_ylim, share)
        figure.legend(loc="outside right center")


def _scale(axis: Any, limits: Any, share: bool) -> None:
    if share:
        limits(0, 1.02)
    axis.set_major_formatter(lambda value, _: _cell(value, share))


def _cell(value: float, share: bool) -> str:
    """A share in percent, another number as it is.

    >>> _cell(0.731, True), _cell(1.0, False)
    ('73%', '1')
    """
    return f"{value:.0%}" if share else number(value)
