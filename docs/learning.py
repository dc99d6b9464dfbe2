"""Makes the picture of the page on learning, with its CSV.

    python docs/learning.py           into docs/learning/
    python docs/learning.py --into X  into another folder

Made-up people, 20,000 of them in 48 steps, have features that are uniform from -1 to 1; a random
direction decides their class.  A model learns from gradients that are clipped in L2, as Ameles
clips them, and from gradients that are clipped in L1, as a counter of counts would need them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.learning import OnlineClassifier, classifier_counter, online_classifier
from ameles.mechanisms.learning.gradients import GRID, clipped
from ameles.noise import System, Zero
from ameles.plot import PlotTable
from ameles.plot.canvas import BLUE, GREY, INK, canvas

FOLDER = Path(__file__).parent / "learning"
FEATURES = (4, 16, 64, 256)
PEOPLE, STEPS, RUNS = 20_000, 48, 5
PLAIN, L2, L1 = "no noise", "Ameles: clipped in L2", "clipped in L1"


def in_l1(sums: Any) -> Any:
    """Gradients of which the sizes of all numbers together are at most the grid."""
    units = clipped(sums)
    size = np.maximum(GRID, np.abs(units).sum(axis=1, keepdims=True))
    return np.sign(units) * (np.abs(units) * GRID // size)


def right(features: int, noise: Noise, people: int) -> float:
    """The share of people whose class is told rightly after the last step."""
    x = (System().uniform(2001, (people, features)) - 1000) / 1000
    y = x @ (System().uniform(2001, features) - 1000) > 0
    counter = classifier_counter(epsilon=1, delta="1e-6", features=features, steps=STEPS)
    model = OnlineClassifier(counter.start(noise), rate="0.01")
    for batch in np.array_split(np.arange(people), STEPS):
        model.partial_fit(x[batch], y[batch])
    return model.score(x, y)


def accuracy(people: int = PEOPLE, runs: int = RUNS) -> PlotTable:
    """Means over some runs."""
    ways: list[tuple[str, Any, Any]] = [(PLAIN, Zero, clipped), (L2, System, clipped)]
    rows = []
    for name, noise, clip in [*ways, (L1, System, in_l1)]:
        with patch.object(online_classifier, "clipped", clip):
            for features in FEATURES:
                shares = [right(features, noise(), people) for _ in range(runs)]
                rows.append((name, features, round(float(np.mean(shares)), 4)))
    return PlotTable(("line", "features", "right"), rows)


def draw(table: PlotTable, file: Path) -> None:
    """One line for each way to learn."""
    styles = {PLAIN: (GREY, "--", ""), L2: (BLUE, "-", "o"), L1: (INK, "-.", "D")}
    with canvas(file, 7.4, 3.4) as figure:
        ax = figure.subplots()
        for name in table.values("line"):
            part = table.where(line=name)
            colour, dashes, marker = styles[name]
            x, y = part.column("features"), part.column("right")
            ax.plot(x, y, color=colour, linestyle=dashes, marker=marker, markersize=4.5, label=name)
        ax.set_xscale("log", base=2)
        ax.set_xticks(FEATURES, [str(count) for count in FEATURES])
        ax.set_xlabel("features of a person")
        ax.set_ylabel("people told rightly")
        ax.set_ylim(0.5, 1.02)
        ax.grid(visible=True)
        ax.legend()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER)
    folder = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    table = accuracy()
    table.write(folder / "features.csv")
    draw(table, folder / "features.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
