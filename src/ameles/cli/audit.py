"""``ameles audit``: the privacy loss of the mechanisms, computed from their code.

Each mechanism is run with impulses on its tape and in its data; what it shows becomes a
linear program, and the answer is proved in exact fractions before it is printed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated, TypeAlias

import typer
from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ameles.audit import Finding, Verdict, exact_loss
from ameles.audit.subjects import subjects
from ameles.core.exceptions import BadInput

DEFAULT_HORIZON = 16
ALL_HORIZONS = range(1, 65)
STYLES = {
    Verdict.CERTIFIED: "green",
    Verdict.REFUTED: "red",
    Verdict.NOT_CERTIFIED: "yellow",
    Verdict.NOT_LINEAR: "yellow",
}
GRAVITY = (Verdict.CERTIFIED, Verdict.NOT_LINEAR, Verdict.NOT_CERTIFIED, Verdict.REFUTED)
QUIET_SECONDS = 1.0

Groups: TypeAlias = dict[tuple[str, str], list[Finding]]


def audit(
    names: Annotated[
        list[str] | None, typer.Argument(help="Mechanisms, by name; all if none is given.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help=f"How many steps.  [default: {DEFAULT_HORIZON}]")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help=f"Every horizon up to {ALL_HORIZONS[-1]}.")
    ] = False,
    epsilon: Annotated[str, typer.Option(help="What the mechanisms are asked for.")] = "1",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compute the privacy loss of mechanisms from their code.

    Exits with 1 if a claim is refuted, otherwise with 0.
    """
    if every and horizon is not None:
        raise BadInput("--all takes every horizon, so --horizon has no meaning beside it.")
    horizons = list(ALL_HORIZONS) if every else [horizon or DEFAULT_HORIZON]
    groups = _look(names or [], horizons, epsilon)
    if as_json:
        found = [finding.to_dict() for group in groups.values() for finding in group]
        typer.echo(json.dumps(found, indent=2))
    else:
        Console().print(table(groups))
    verdicts = [finding.verdict for group in groups.values() for finding in group]
    refuted = verdicts.count(Verdict.REFUTED)
    typer.echo(f"{len(verdicts)} audits, {refuted} refuted.", err=True)
    if refuted:
        raise typer.Exit(1)


def _look(names: list[str], horizons: list[int], epsilon: str) -> Groups:
    """Every finding, by mechanism and currency, with a word on standard error if it takes long."""
    groups: Groups = {}
    with _Progress() as progress:
        for place, steps in enumerate(horizons, start=1):
            for recipe in subjects(names, epsilon=epsilon, horizon=steps):
                name = type(recipe).__name__
                progress.says(f"{name}, {steps} steps (horizon {place} of {len(horizons)})")
                finding = exact_loss(recipe, steps=steps, tick=progress.tick)
                currency = type(finding.claimed).__name__
                groups.setdefault((name, currency), []).append(finding)
    return groups


class _Progress:
    """What is being audited, on a terminal, once it has taken more than a second."""

    def __init__(self) -> None:
        self._status = Status("", console=Console(stderr=True))
        self._watched = sys.stderr.isatty()
        self._since = time.monotonic()
        self._shown = False

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._status.stop()

    def says(self, text: str) -> None:
        self._status.update(text)
        self.tick()

    def tick(self) -> None:
        if self._watched and not self._shown and time.monotonic() - self._since > QUIET_SECONDS:
            self._status.start()
            self._shown = True


def table(groups: Groups) -> Table:
    """One line for each mechanism: the gravest of its findings."""
    lines = Table(
        *("mechanism", "steps", "claimed", "exact", "verdict", "worst pair"),
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for (name, _), found in groups.items():
        gravest = max(found, key=_gravity)
        first, last = min(one.steps for one in found), max(one.steps for one in found)
        spread = f"{first}" if first == last else f"{first} to {last}"
        at = "" if first == last else f" of {gravest.steps}"
        worst = gravest.how if gravest.worst is None else f"{gravest.worst}{at}"
        verdict = Text(gravest.verdict.value, STYLES[gravest.verdict])
        # As Text, since brackets in a plain string would be read as markup.
        cells = [name, spread, str(gravest.claimed), gravest.computed]
        lines.add_row(*map(Text, cells), verdict, Text(worst))
    return lines


def _gravity(finding: Finding) -> tuple[int, float]:
    return GRAVITY.index(finding.verdict), float(finding.lower / finding.limit)
