"""Makes the picture of the page about pan-privacy: an attack, in a CSV and drawn from it.

python docs/seized.py             a new attack, seized.csv, and its picture, seized.svg
python docs/seized.py --redraw    the picture alone, from the CSV as it is
python docs/seized.py --into X    into another folder
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ameles.noise import System
from ameles.plot.canvas import BLUE, GREY, INK, RED, canvas
from ameles.plot.table import PlotTable

FOLDER = Path(__file__).parent
EXAMPLE = FOLDER.parent / "examples" / "seized_state.py"
HEADS = ("hour", "truth", "TreeCounter", "PanPrivateCounter", "within 95%")


def example() -> Any:
    """The program that shows the attack."""
    spec = importlib.util.spec_from_file_location("seized_state", EXAMPLE)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


def compute() -> PlotTable:
    """Patients since the theft: the truth, and what the intruder computes."""
    show = example()
    patients = System().uniform(2, show.HOURS)
    tree, pan_private, _ = (show.attack(target, patients).since for target in show.TARGETS)
    since = np.cumsum(patients[show.SEIZED :])
    # the noise that the intruder has not seen: of the intervals that start after the theft
    error = show.TARGETS[1].recipe.error
    rows = []
    for place, numbers in enumerate(zip(since, tree, pan_private, strict=True)):
        hour = show.SEIZED + place + 1
        unseen = error.between(show.SEIZED, hour).parts[0]
        half = type(unseen)(unseen.scale, unseen.weight, unseen.count / 2)
        within = type(error.law(1))((half,)).quantile(0.05)
        rows.append((hour, *(int(number) for number in numbers), within))
    return PlotTable(HEADS, rows)


def draw(table: PlotTable, file: Path) -> None:
    """Both counters side by side, on one scale."""
    hours, truth = table.column("hour"), np.array(table.column("truth"))
    with canvas(file, 7.2, 2.9) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for panel, name, colour in zip(panels, HEADS[2:4], (RED, BLUE), strict=True):
            panel.plot(hours, truth, color=INK, linewidth=3, alpha=0.35, label="truth")
            panel.plot(
                hours, table.column(name), ".", markersize=5, color=colour, label="the intruder's"
            )
            panel.set_title(name)
            panel.set_xlabel("hour; the state was seized after hour 20")
            panel.axhline(0, color=GREY, linewidth=0.6)
        within = np.array(table.column(HEADS[4]))
        panels[1].fill_between(
            hours, truth - within, truth + within, color=BLUE, alpha=0.1, linewidth=0, label="95%"
        )
        panels[0].set_ylabel("patients since the theft")
        for panel in panels:
            panel.legend(loc="lower left")


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the picture of an attack.")
    parser.add_argument("--redraw", action="store_true", help="from the CSV as it is")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder to write into")
    options = parser.parse_args()
    if not options.redraw:
        compute().write(options.into / "seized.csv")
    draw(PlotTable.read(options.into / "seized.csv"), options.into / "seized.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
