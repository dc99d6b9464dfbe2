"""A first private counter: fever reports on a website, published every day of a season.

Visitors of an influenza site report their symptoms.  The site publishes the running number
of fever reports every day; what it publishes changes little whether any one report was made
or not, and whoever seizes the machine finds no exact number on it.
"""

from __future__ import annotations

import math

from ameles import EVENT, Ledger, Neighbours, Pure, SimpleOneCounter, SimpleTwoCounter
from ameles.noise import System

DAYS = 120
COLUMNS, ROWS = 72, 16


def simulated_reports() -> list[int]:
    """Fever reports per day: a wave that peaks in the middle of the season."""
    jitter = System().uniform(7, DAYS)
    wave = (14 * math.exp(-(((day - 60) / 18) ** 2)) for day in range(DAYS))
    return [
        max(0, round(height) + int(extra) - 3) for height, extra in zip(wave, jitter, strict=True)
    ]


def running(reports: list[int]) -> list[int]:
    """The true totals, which nobody outside will see."""
    return [sum(reports[: day + 1]) for day in range(len(reports))]


def plot(truth: list[int], released: list[int], margins: list[float]) -> str:
    """Released totals (o) in their 95% band (:), with the truth (-)."""
    top = max(r + m for r, m in zip(released, margins, strict=True))
    low = min(0.0, *(r - m for r, m in zip(released, margins, strict=True)))

    def row(value: float) -> int:
        return min(ROWS - 1, max(0, round((top - value) / (top - low) * (ROWS - 1))))

    grid = [[" "] * COLUMNS for _ in range(ROWS)]
    for column in range(COLUMNS):
        day = column * (DAYS - 1) // (COLUMNS - 1)
        value, margin = released[day], margins[day]
        for line in range(row(value + margin), row(value - margin) + 1):
            grid[line][column] = ":"
        grid[row(truth[day])][column] = "-"
        grid[row(value)][column] = "o"
    scale = [f"{top - (top - low) * line / (ROWS - 1):6.0f} |" for line in range(ROWS)]
    lines = [start + "".join(cells) for start, cells in zip(scale, grid, strict=True)]
    axis = "       +" + "-" * COLUMNS
    return "\n".join([*lines, axis, f"        day 1{f'day {DAYS}':>{COLUMNS - 5}}"])


def main() -> None:
    """Buys a counter, runs it over the season and shows what the public sees."""
    counter = SimpleTwoCounter(epsilon=0.5)
    ledger = Ledger("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    run = ledger.start(counter, on="fever reports", why="the season's public page")

    print("Fever reports, published every day of a season\n")
    print(f"  promise:  {counter.guarantee}")
    print(f"  budget:   {ledger.spent} spent, {ledger.left} left for population 'visitors'\n")

    reports = simulated_reports()
    truth = running(reports)
    released = [run.step(today) for today in reports]
    margins = [counter.error.bound(day, 0.05) for day in range(1, DAYS + 1)]

    print("   day   true   released    ±95%")
    for day in (1, 10, 30, 60, 90, DAYS):
        shown = f"{truth[day - 1]:6} {released[day - 1]:10} {margins[day - 1]:7.0f}"
        print(f"  {day:4} {shown}")
    print()
    print(plot(truth, released, margins))
    print("        released o   truth -   95% band, privacy noise only :\n")

    baseline = SimpleOneCounter(epsilon=0.5, horizon=DAYS).error.bound(DAYS, 0.05)
    print(f"  The same promise with fresh noise on every total would need ±{baseline:.0f}.")


if __name__ == "__main__":
    main()
