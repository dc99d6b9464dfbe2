"""Makes the pictures of the tutorial on questions about tables, each with its CSV.

    python docs/survey.py           into docs/survey/
    python docs/survey.py --into X  into another folder

The laws of the first two are computed; the answers of the third are drawn once, with real noise.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.ledger import Ledger
from ameles.plot import PlotTable
from ameles.plot.canvas import BLUE, GREY, INK, RED, canvas
from ameles.query import Table as Rows
from ameles.simulate import health_survey
from ameles.simulate.health_survey import DISTRICTS

FOLDER = Path(__file__).parent / "survey"
COLUMNS = {"district": "text", "age": "integer", "smoker": "boolean", "sick_days": "integer"}


def two_counts() -> PlotTable:
    """The law of a noisy count with one person and without, at epsilon 0.5."""
    ratio = math.exp(-0.5)
    share = (1 - ratio) / (1 + ratio)
    rows = [
        (who, at, round(share * ratio ** abs(at - count), 9))
        for who, count in (("without Pia", 33), ("with Pia", 34))
        for at in range(22, 46)
    ]
    return PlotTable(("who", "count", "probability"), rows)


def stability() -> PlotTable:
    """How wide the interval of a count is, by how many rows one person may change."""
    ledger = Ledger("town", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    rows = []
    with TemporaryDirectory() as folder:
        health_survey(people=2).write(folder)
        people = Rows.from_file(
            Path(folder, "survey.csv"), columns=COLUMNS, account=ledger, unit="row"
        )
        chains = {
            "where": people.where("smoker"),
            "group_by": people.group_by("district", people="count"),
            "select_many with 3": people.select_many(
                "value", ["age", "sick_days", "age + sick_days"]
            ),
        }
        for name, query in chains.items():
            recipe = query.recipe("noisy_count", epsilon="0.1")
            rows.append((name, query.relation.stability, recipe.error.bound(1, 0.05)))
    return PlotTable(("transformation", "stability", "half_width"), rows)


def districts() -> PlotTable:
    """Average sick days in each district: asked with epsilon 0.5, and the truth."""
    town = health_survey()
    ledger = Ledger("town", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    with TemporaryDirectory() as folder:
        town.write(folder)
        people = Rows.from_file(
            Path(folder, "survey.csv"), columns=COLUMNS, account=ledger, unit="row"
        )
        answer = people.partition(district=DISTRICTS).noisy_average(
            "sick_days", lower=0, upper=20, epsilon="0.5"
        )
    rows: list[tuple[str, float, float, float, float]] = []
    for district in DISTRICTS:
        days = [row["sick_days"] for row in town.answers if row["district"] == district]
        line = answer[district]
        value, low, high = (float(str(x)) for x in (line.value, line.low, line.high))
        rows.append((district, value, low, high, round(sum(days) / len(days), 6)))
    return PlotTable(("district", "value", "low", "high", "true"), rows)


def draw_two_counts(table: PlotTable, file: Path) -> None:
    with canvas(file, 7.4, 2.8) as figure:
        ax = figure.subplots()
        for who, colour, shift in (("without Pia", GREY, -0.2), ("with Pia", BLUE, 0.2)):
            here = table.where(who=who)
            places = [float(at) + shift for at in here.column("count")]
            ax.bar(places, here.column("probability"), width=0.38, color=colour, label=who)
        ax.set_xlabel("published count of people in the north with a depression")
        ax.set_ylabel("probability")
        ax.legend()


def draw_stability(table: PlotTable, file: Path) -> None:
    with canvas(file, 7.4, 2.0) as figure:
        ax = figure.subplots()
        places = range(len(table.rows))
        half = table.column("half_width")
        ax.hlines(places, [-float(h) for h in half], half, color=BLUE, linewidth=3)
        ax.plot([0] * len(half), places, "|", color=INK, markersize=12)
        pairs = zip(table.column("transformation"), table.column("stability"), strict=True)
        ax.set_yticks(list(places), [f"{name}: {rows} row(s)" for name, rows in pairs])
        ax.set_ylim(len(half) - 0.5, -0.5)
        ax.grid(visible=True, axis="x")
        ax.set_xlabel("error of a count with epsilon 0.1, 95%")


def draw_districts(table: PlotTable, file: Path) -> None:
    with canvas(file, 7.4, 2.4) as figure:
        ax = figure.subplots()
        places = list(range(len(table.rows)))
        ax.hlines(places, table.column("low"), table.column("high"), color=GREY, linewidth=2)
        ax.plot(table.column("value"), places, "o", color=BLUE, label="published")
        ax.plot(table.column("true"), places, "|", color=RED, markersize=14, label="true")
        ax.set_yticks(places, [str(name) for name in table.column("district")])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.grid(visible=True, axis="x")
        ax.set_xlabel("average sick days, with its 95% interval")
        ax.legend(loc="best")


PICTURES = {
    "two_counts": (two_counts, draw_two_counts),
    "stability": (stability, draw_stability),
    "districts": (districts, draw_districts),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER)
    folder = parser.parse_args().into
    folder.mkdir(exist_ok=True)
    for name, (compute, draw) in PICTURES.items():
        table = compute()
        table.write(folder / f"{name}.csv")
        draw(table, folder / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
