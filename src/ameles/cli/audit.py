"""``ameles audit``: the privacy loss of the mechanisms, computed from their code.

Each mechanism is run with impulses on its tape and in its data.  Its outputs become a linear
program, and the solution is proved in exact fractions before it is printed.  If the guarantee
allows the state to be seized, the outputs are the state together with all releases.
"""

from __future__ import annotations

import json
import os
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
UNDECIDED = 5  # the exit code if no claim is refuted and not every one is certified
QUIET_SECONDS = 1.0
PIPED_WIDTH = 140
WIDE = 120  # columns that the table needs with the worst pairs
HEADS = ("mechanism", "T", "intrusions", "claimed", "exact", "verdict", "worst pair")

LONGEST = 1 << 14
# The key: mechanism, currency, intrusions, and whether it has a horizon.
Groups: TypeAlias = dict[tuple[str, str, str, bool], list[Finding]]


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
    epsilon: Annotated[str, typer.Option(help="The epsilon of every mechanism.")] = "1",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compute the privacy loss of mechanisms from their code.

    Exits with 0 if every claim is certified, with 1 if one is refuted, and with 5 if none is
    refuted but one is not certified or not linear.
    """
    if every and horizon is not None:
        raise BadInput("--all already takes every horizon, so --horizon cannot be given with it.")
    if horizon is not None and horizon > LONGEST:
        raise BadInput(
            f"--horizon is at most {LONGEST} here.",
            why="an audit solves a linear program whose size grows with the square of the horizon",
            tip="a shorter stream of the same mechanism: --horizon 64",
        )
    horizons = list(ALL_HORIZONS) if every else [DEFAULT_HORIZON if horizon is None else horizon]
    groups = _look(names or [], horizons, epsilon)
    if as_json:
        findings = [finding.to_dict() for group in groups.values() for finding in group]
        typer.echo(json.dumps(findings, indent=2))
    else:
        _show(groups)
    verdicts = [finding.verdict for group in groups.values() for finding in group]
    refuted = verdicts.count(Verdict.REFUTED)
    open_ones = len(verdicts) - refuted - verdicts.count(Verdict.CERTIFIED)
    if not as_json:
        audits = "1 audit" if len(verdicts) == 1 else f"{len(verdicts)} audits"
        rest = f", {open_ones} neither certified nor refuted" if open_ones else ""
        typer.echo(f"{audits}, {refuted or 'none'} refuted{rest}.", err=True)
    if refuted or open_ones:
        raise typer.Exit(1 if refuted else UNDECIDED)


def _look(names: list[str], horizons: list[int], epsilon: str) -> Groups:
    """All findings, grouped by claim; shows progress on standard error if it takes long."""
    groups: Groups = {}
    with AuditProgress() as progress:
        for place, steps in enumerate(horizons, start=1):
            for recipe in subjects(names, epsilon=epsilon, horizon=steps):
                name = type(recipe).__name__
                progress.says(f"{name}, {steps} steps (horizon {place} of {len(horizons)})")
                finding = exact_loss(recipe, steps=steps, tick=progress.tick)
                currency = type(finding.claimed).__name__
                claim = name, currency, finding.intrusions.value, finding.horizon is not None
                groups.setdefault(claim, []).append(finding)
    return groups


class AuditProgress:
    """Shows on a terminal what is being audited, after one second."""

    def __init__(self) -> None:
        self._status = Status("", console=Console(stderr=True))
        self._watched = sys.stderr.isatty()
        self._since = time.monotonic()
        self.shown = False

    def __enter__(self) -> AuditProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self._status.stop()

    def says(self, text: str) -> None:
        self._status.update(text)
        self.tick()

    def tick(self) -> None:
        if self._watched and not self.shown and time.monotonic() - self._since > QUIET_SECONDS:
            self._status.start()
            self.shown = True


def _show(groups: Groups) -> None:
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=PIPED_WIDTH)  # a file has no right edge to wrap at
    beside = console.width >= WIDE
    console.print(table(groups, HEADS if beside else HEADS[:-1]))
    if not beside:  # too narrow: print the worst pairs below the table
        pairs = [(name, worst_pair(findings)) for (name, *_), findings in groups.items()]
        for name, pair in dict.fromkeys(pairs):
            typer.echo(f"{name}: {pair or 'none found'}")
    for note in (*notes(groups), *scope(groups)):
        typer.echo(note)


def table(groups: Groups, heads: tuple[str, ...] = HEADS) -> Table:
    """One line for each claim: the gravest of its findings."""
    lines = Table(
        *heads, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True
    )
    for column, head in zip(lines.columns, heads, strict=True):
        column.no_wrap = head in ("mechanism", "T", "intrusions", "verdict")
    for (name, _, intrusions, ends), findings in groups.items():
        gravest = max(findings, key=gravity)
        first, last = min(one.steps for one in findings), max(one.steps for one in findings)
        spread = f"{first}" if first == last else f"{first} to {last}"
        spread = spread if ends else f"{spread}, no end"
        verdict = Text(gravest.verdict.value, STYLES[gravest.verdict])
        # Text, because rich would read brackets in a plain string as markup.
        cells = map(Text, (name, spread, intrusions, str(gravest.claimed), gravest.computed))
        lines.add_row(*[*cells, verdict, Text(worst_pair(findings))][: len(heads)])
    return lines


def worst_pair(findings: list[Finding]) -> str:
    """The neighbours of the gravest finding, with its horizon if there are several horizons."""
    gravest = max(findings, key=gravity)
    several = len({finding.steps for finding in findings}) > 1
    at = f"T = {gravest.steps}: " if several else ""
    return f"{at}{gravest.worst}" if gravest.worst else ""


def notes(groups: Groups) -> list[str]:
    """For each reason that occurred: why a line of the table has no number."""
    reasons: dict[str, list[str]] = {}
    for (name, *_), findings in groups.items():
        for finding in findings:
            if finding.verdict in (Verdict.NOT_LINEAR, Verdict.NOT_CERTIFIED):
                reasons.setdefault(f"{finding.verdict.value}: {finding.how}", []).append(name)
    return [f"{why} ({', '.join(dict.fromkeys(names))})" for why, names in reasons.items()]


def scope(groups: Groups) -> list[str]:
    """What certificates cover, what was tried, and what audits cannot see; with names, if not all
    are alike."""
    lines = []
    for title, field in (("Covered", "covers"), ("Tried", "tried"), ("Not seen", "unseen")):
        who: dict[str, list[str]] = {}
        for (name, *_), findings in groups.items():
            for text in dict.fromkeys(text for one in findings for text in getattr(one, field)):
                who.setdefault(text, []).append(name)
        texts = [
            text if len(names) == len(groups) else f"{text} ({_few(names, len(groups))})"
            for text, names in who.items()
        ]
        if texts:
            lines.append(f"{title}: {'; '.join(texts)}.")
    return lines


def _few(names: list[str], all_of_them: int) -> str:
    """The names, or how many there are if there are more than a few."""
    unique = list(dict.fromkeys(names))
    return ", ".join(unique) if len(unique) < 4 else f"{len(names)} of {all_of_them} lines"


def gravity(finding: Finding) -> tuple[int, float]:
    """The sort key of findings: the worst verdict first in rank, then the largest loss."""
    return GRAVITY.index(finding.verdict), float(finding.lower / finding.limit)
