"""Makes the picture of statistics of users whose state may be seized: how exact they are.

python docs/seized_users.py            computes seized_users.csv, and draws seized_users.svg
python docs/seized_users.py --into X   into another folder

All numbers are computed: they are the half-widths that `ameles plan` shows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ameles.core.guarantee import USER, Intrusions
from ameles.core.loss import Pure
from ameles.measures.catalogue import MEASURES
from ameles.measures.measure import Terms
from ameles.measures.table_choice import MOST_CELLS
from ameles.plot.canvas import BLUE, GREEN, ORANGE, RED, canvas
from ameles.plot.table import PlotTable

FOLDER = Path(__file__).parent
HEADS = ("users", "statistic", "half-width")
ON = Terms(unit=USER, per_step=1, max_steps=1, horizon=6, window=None, intrusions=Intrusions.ONE)
CROWDS = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
# The statistic, its keys in a plan, the cells for each user, and how it is drawn.
LINES: dict[str, tuple[str, dict[str, int], tuple[int, ...], tuple[str, str]]] = {
    "who came": ("density", {}, (1, 2), (BLUE, "o")),
    "events on average, at most 4": ("cropped_mean", {"crop": 4}, (1, 2), (GREEN, "^")),
    "exactly once": ("incidence", {"exactly": 1}, (1, 2, 5, 10, 20), (ORANGE, "s")),
    "twice or more": ("heavy", {"at_least": 2}, (1, 2, 5, 10, 20), (RED, "D")),
}


def compute(crowds: tuple[int, ...] = CROWDS) -> PlotTable:
    """The half-width of each statistic at epsilon 1 over six steps, with the best table."""
    rows = []
    for users in crowds:
        for name, (kind, keys, sizes, _) in LINES.items():
            tables = {min(size * users, MOST_CELLS) for size in sizes}
            best = min(_half_width(kind, keys, users, table) for table in tables)
            rows.append((users, name, float(f"{best:.3g}")))
    return PlotTable(HEADS, rows)


def _half_width(kind: str, keys: dict[str, int], users: int, table: int) -> float:
    fields: dict[str, Any] = {"name": "r", "measure": kind, "users": users, "table": table, **keys}
    release = MEASURES[kind].model_validate(fields)
    recipe = release.recipe(ON, Pure(1))
    return float(release.half_widths(recipe, ON, np.array([6]))[0])


def draw(table: PlotTable, file: Path) -> None:
    """A line for each statistic, against the number of users."""
    with canvas(file, 6.4, 3.2) as figure:
        ax = figure.subplots()
        for name, (*_, (colour, marker)) in LINES.items():
            mine = table.where(statistic=name)
            ax.plot(
                mine.column("users"),
                mine.column("half-width"),
                color=colour,
                marker=marker,
                markersize=4,
                label=name,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("users, of whom the table has a cell or more each")
        ax.set_ylabel("± at 95%")
        ax.set_title("Epsilon 1, six steps, a state that may be seized once")
        ax.grid(visible=True, which="major")
        figure.legend(loc="outside right center")


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the picture of statistics of users.")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder to write into")
    into = parser.parse_args().into
    table = compute()
    table.write(into / "seized_users.csv")
    draw(table, into / "seized_users.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
