"""``ameles compare``: which counter has the smallest error, and how much larger the others are.

It uses public parameters only: it reads no data and spends nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from ameles.cli.comparison import CounterRow, CounterTable, comparison
from ameles.cli.waiting import patience, writing
from ameles.core.exceptions import BadInput
from ameles.core.parameters import refuse
from ameles.mechanisms.counters.choose import Objective
from ameles.plot import PlotTable, check_picture, side_by_side

PIPED_WIDTH = 140
_POWER = re.compile(r"([0-9]{1,6})(?:\^|\*\*)([0-9]{1,3})")
_PLAIN = re.compile(r"[0-9][0-9_]{0,39}")
WIDE = 112  # columns that the table needs with its reasons
HEADS = ("mechanism", "mean", "worst", "last ±95%", "memory", "÷ best", "÷ bound", "why")


def compare(
    epsilon: Annotated[str, typer.Option(help="The privacy loss.", metavar="NUMBER")],
    horizon: Annotated[
        str | None, typer.Option(help="How many steps: 65536 or 2^16.", metavar="STEPS")
    ] = None,
    delta: Annotated[
        str,
        typer.Option(help="If above zero, such as 1e-6: allow Gaussian noise.", metavar="NUMBER"),
    ] = "0",
    unbounded: Annotated[bool, typer.Option("--unbounded", help="A stream without end.")] = False,
    contributions: Annotated[
        str, typer.Option(help="How many steps one unit may change.", metavar="STEPS")
    ] = "1",
    width: Annotated[
        str | None, typer.Option(help="How many counters advance together.", metavar="COUNT")
    ] = None,
    intrusions: Annotated[
        str,
        typer.Option(help="How often the state may be seized.", metavar="none|one|announced|every"),
    ] = "none",
    optimise: Annotated[
        str, typer.Option(help="Which error to minimise.", metavar="mean|worst|STEP")
    ] = "mean",
    bits: Annotated[
        bool, typer.Option("--bits", help="Every input is 0 or 1: count flipped bits, too.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the table: .png or .svg.", metavar="FILE")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compare the counters that can give one guarantee.

    Errors are computed from formulas: no data is read, no noise is drawn, nothing is spent.
    """
    if plot is not None:
        check_picture(plot)  # before the slow computation
    with patience("computing the error of every counter"):
        table = comparison(
            epsilon=epsilon,
            delta=delta,
            horizon=_steps(horizon, unbounded),
            width=None if width is None else whole_number(width, "width"),
            contributions=whole_number(contributions, "contributions"),
            intrusions=intrusions,
            optimise=_objective(optimise),
            bits=bits,
        )
    if as_json:
        typer.echo(json.dumps(_report(table), indent=2))
    else:
        _show(table)
    if csv is not None:
        with writing(csv):
            values(table).write(csv)
    if plot is not None:
        with writing(plot):
            side_by_side(values(table), plot)


def values(table: CounterTable) -> PlotTable:
    """The values for the CSV file and the picture."""
    heads = ("mechanism", "mean", "worst", "last_95", "memory", "to_best", "to_bound", "why")
    rows = [
        (
            *(line.mechanism, line.mean, line.worst, line.last, line.memory, line.to_best),
            *("" if line.to_bound is None else line.to_bound, line.why),
        )
        for line in table.lines
    ]
    return PlotTable(heads, rows)


def _steps(horizon: str | None, unbounded: bool) -> int | None:
    if (horizon is None) != unbounded:
        raise BadInput(
            "Exactly one of --horizon and --unbounded must be given.",
            why="a counter with a known last step needs less noise",
            tip="--horizon 2^16",
        )
    return None if horizon is None else whole_number(horizon, "horizon")


def _objective(text: str) -> Objective:
    match text:
        case "mean" | "worst":
            return text
    try:
        return whole_number(text, "optimise")
    except BadInput:
        raise refuse("optimise", "'mean', 'worst' or the number of a step", text) from None


def _report(table: CounterTable) -> dict[str, object]:
    lines = [{**asdict(line), "recipe": json.loads(line.recipe)} for line in table.lines]
    return {
        "steps": table.steps,
        "looked_at": table.looked_at,
        "intrusions": table.intrusions.value,
        "bound": table.bound,
        "bound_on": "mean" if table.gaussian else "all steps with 95%",
        "mechanisms": lines,
    }


def _show(table: CounterTable) -> None:
    console = Console()  # no colour if NO_COLOR is set or this is no terminal
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)  # a file has no right edge to wrap at
    beside = console.width >= WIDE
    console.print(_table(table, HEADS if beside else HEADS[:-1]))
    if not beside:  # too narrow: print the reasons below the table
        typer.echo("".join(f"\n{line.mechanism}: {line.why}" for line in table.lines))
    for line in table.legend:
        typer.echo(line, err=True)


def _table(compared: CounterTable, heads: tuple[str, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for head in heads:
        side: JustifyMethod = "left" if head in ("mechanism", "why") else "right"
        table.add_column(head, justify=side, no_wrap=side == "right")
    for place, line in enumerate(compared.lines):
        table.add_row(*_cells(line)[: len(heads)], style="bold" if place == 0 else None)
    return table


def _cells(line: CounterRow) -> list[Text]:
    numbers = (line.mean, line.worst, line.last)
    over = "-" if line.to_bound is None else _brief(line.to_bound)
    ratios = (str(line.memory), _brief(line.to_best), over)
    # Text, because rich would read brackets in a plain string as markup.
    return [Text(cell) for cell in (line.mechanism, *map(_brief, numbers), *ratios, line.why)]


def _brief(number: float) -> str:
    """Three or four digits, whatever the size.

    >>> _brief(20.7), _brief(1.0), _brief(92681.9), _brief(1.48e12)
    ('20.7', '1.00', '92,682', '1.48e+12')
    """
    if number >= 1e9:
        return f"{number:.3g}"
    digits = 2 if number < 10 else 1 if number < 1000 else 0
    return f"{number:,.{digits}f}"


def whole_number(text: str, name: str) -> int:
    """An integer, written out or as a power.

    >>> whole_number("2^16", "horizon"), whole_number("65_536", "horizon")
    (65536, 65536)
    """
    power = _POWER.fullmatch(text.strip())
    if power:
        value: int = int(power[1]) ** int(power[2])
        return value
    if _PLAIN.fullmatch(text.strip()):
        return int(text)
    raise refuse(name, "a whole number, such as 65536 or 2^16", text)
