"""Makes the picture of the page on auctions, votes and games, with its CSV.

    python docs/truthful.py           into docs/truthful/
    python docs/truthful.py --into X  into another folder

Everything in it is computed, nothing is drawn at random: all lies of small instances are tried.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from fractions import Fraction
from pathlib import Path

from ameles.mechanisms.truthful import DigitalGoodsAuction, MedianLocation, largest_gain
from ameles.plot import PlotTable
from ameles.plot.canvas import BLUE, GREEN, GREY, INK, canvas, log_axis

FOLDER = Path(__file__).parent / "truthful"
EPSILONS = [Fraction(n, 100) for n in (5, 10, 20, 40, 80, 160, 320)]
BOUND, PRINTED = "tanh(ε/2): no lie gains more", "2ε, as often printed"


def median_gain(epsilon: Fraction) -> float:
    """The best lie of one of three people about where they live, at four places."""
    recipe = MedianLocation(epsilon=epsilon, agents=3, places=3, neighbours="replace")
    best = 0.0
    for home, *others in itertools.product(range(4), repeat=3):
        worth = [1 - abs(home - place) / 3 for place in range(4)]
        told = [
            sum(p * u for p, u in zip(recipe.law([lie, *others]), worth, strict=True))
            for lie in range(4)
        ]
        best = max(best, max(told) - told[home])
    return best


def auction_gain(epsilon: Fraction) -> float:
    """The best lie of one of three bidders for digital goods, at three prices."""
    recipe = DigitalGoodsAuction(epsilon=epsilon, agents=3, prices=3, neighbours="replace")
    best = 0.0
    for value, *others in itertools.product(range(4), repeat=3):
        told = []
        for bid in range(4):
            law = recipe.law([bid, *others])
            told.append(
                sum(p * (value - price) / 3 for price, p in enumerate(law, 1) if bid >= price)
            )
        best = max(best, max(told) - told[value])
    return best


def lies() -> PlotTable:
    """What a lie gains at most, by theory and in two mechanisms."""
    lines = {
        PRINTED: lambda epsilon: min(1.0, 2 * float(epsilon)),
        BOUND: largest_gain,
        "digital goods, the best of all lies": auction_gain,
        "median location, the best of all lies": median_gain,
    }
    rows = [(name, float(e), gain(e)) for name, gain in lines.items() for e in EPSILONS]
    return PlotTable(("line", "epsilon", "gain"), rows)


def draw(table: PlotTable, file: Path) -> None:
    """Lines for what is proved, points for what was computed."""
    styles = {PRINTED: (GREY, "--", ""), BOUND: (INK, "-", "")}
    spare = iter([(BLUE, "-", "o"), (GREEN, "-.", "D")])
    with canvas(file, 7.4, 3.4) as figure:
        ax = figure.subplots()
        for name in table.values("line"):
            part = table.where(line=name)
            colour, dashes, marker = styles.get(name) or next(spare)
            x, y = part.column("epsilon"), part.column("gain")
            ax.plot(x, y, color=colour, linestyle=dashes, marker=marker, markersize=4.5, label=name)
        ax.set_xscale("log")
        log_axis(ax.xaxis)
        ax.set_xlabel("privacy loss, ε")
        ax.set_ylabel("gain of the best lie, of 1")
        ax.grid(visible=True)
        ax.legend()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER)
    folder = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    table = lies()
    table.write(folder / "lies.csv")
    draw(table, folder / "lies.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
