"""``ameles attack``: how far attackers come, against weak ways to publish and against Ameles.

The people are made up, and nothing is spent: it is teaching material.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ameles.audit.attacks import AttackReport
from ameles.audit.attacks.catalogue import ATTACKS
from ameles.cli.waiting import patience, writing
from ameles.core.exceptions import BadInput
from ameles.plot import PlotTable, check_picture
from ameles.plot import attack as picture

WIDTH = 100  # of the story and of its meaning
PIPED_WIDTH = 120


def attack(
    name: Annotated[
        str | None, typer.Argument(help="Which attack; all are listed if none.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The privacy loss of the targets that have one; if missing, the attack's own.",
            metavar="NUMBER",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what was reached: .png or .svg.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Attack published statistics, with made-up people, and see what helps."""
    if name is None:
        if plot is not None or epsilon is not None:
            raise BadInput(
                "--plot and --epsilon need the name of an attack.", tip="ameles attack linkage"
            )
        _list(as_json)
        return
    given_name, name = name, name.lower().replace("-", "_")
    if name not in ATTACKS:
        (near,) = get_close_matches(name, ATTACKS, n=1) or ["linkage"]
        raise BadInput(
            f"There is no attack '{given_name}'.", why=f"there are {', '.join(ATTACKS)}", tip=near
        )
    if plot is not None:
        check_picture(plot)  # before the slow computation
    given = {} if epsilon is None else {"epsilon": epsilon}
    with patience(f"attacking: {name}"):
        report = ATTACKS[name](**given)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    else:
        _show(report)
    if plot is not None:
        with writing(plot):
            picture(
                values(report),
                plot,
                measure=report.measure,
                blind=report.blind,
                effort=report.effort,
                share=report.share,
            )


def values(report: AttackReport) -> PlotTable:
    """The values for the picture: an empty text where there is none."""
    rows = [
        (
            target.name,
            "" if target.effort is None else target.effort,
            target.reached,
            "" if target.allowed is None else target.allowed,
        )
        for target in report.targets
    ]
    return PlotTable(("target", "effort", "reached", "allowed"), rows)


def _list(as_json: bool) -> None:
    what = {name: (one.__doc__ or "").strip() for name, one in ATTACKS.items()}
    if as_json:
        typer.echo(json.dumps(what, indent=2))
        return
    for name, does in what.items():
        typer.echo(f"{name:15} {does}")
    typer.echo("\nOne of them: ameles attack linkage --plot linkage.svg", err=True)


def _show(report: AttackReport) -> None:
    console = Console()  # no colour if NO_COLOR is set or this is no terminal
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)  # a file has no right edge to wrap at
    width = min(console.width, WIDTH)
    typer.echo(fill(report.story, width) + "\n")
    console.print(_table(report))
    blind = _number(report.blind, report.share)
    typer.echo(f"\nWithout looking: {blind}. Allowed: the most that any attacker can reach.")
    typer.echo("\n" + fill(report.meaning, width))


def _table(report: AttackReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("published")
    heads = [report.effort] if report.effort else []
    for head in (*heads, report.measure, "allowed"):
        table.add_column(head, justify="right")
    for target in report.targets:
        effort = ["-" if target.effort is None else f"{target.effort:,}"] if heads else []
        allowed = "-" if target.allowed is None else _number(target.allowed, report.share)
        reached = _number(target.reached, report.share)
        # Text, because rich would read brackets in a plain string as markup.
        table.add_row(*map(Text, (target.name, *effort, reached, allowed)))
    return table


def _number(value: float, share: bool) -> str:
    """A share in percent, another number with two digits.

    >>> _number(0.7311, True), _number(16, False)
    ('73.1%', '16.00')
    """
    return f"{value:.1%}" if share else f"{value:.2f}"
