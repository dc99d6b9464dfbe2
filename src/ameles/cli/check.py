"""``ameles check``: the owner's secret look at the source, before anything is spent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console

from ameles.cli.check_report import FactsPage
from ameles.cli.launch_refusals import refuse_launch
from ameles.cli.plans import (
    DEFAULT,
    PIPED_WIDTH,
    AsJson,
    PlanFile,
    reading_progress,
    say,
    store_path,
)
from ameles.cli.secret_output import HEADING, SecretTo, secret_output
from ameles.core.exceptions import BadInput
from ameles.engine.owner_check.check import check as look_at
from ameles.engine.owner_check.facts import Facts
from ameles.engine.running.plan_checks import mark_checked
from ameles.plan.plan import Plan, read_plan
from ameles.store import Store, exists, open_store


def check(
    file: PlanFile = DEFAULT,
    sample: Annotated[
        Path | None,
        typer.Option(help="A file with sample lines, if the source is standard input."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Look at the whole source, including what a launched stream has read."
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show values that fit neither their kind nor a key.")
    ] = False,
    secret_to: SecretTo = None,
    as_json: AsJson = False,
) -> None:
    """Look at the source in secret: what a run would read, count and leave out.

    The numbers are exact, for whoever holds the data: on a terminal, or in a new file with
    --secret-to.  Nothing is spent and no stream changes.  The store keeps that you looked, not what
    you saw.  If you choose epsilon, bounds or keys by what you see, the guarantee does not cover
    that choice.
    """
    if as_json and secret_to is None:
        raise BadInput("--json writes to a file only.", tip="--json --secret-to FILE")
    checked = read_plan(file)
    _ = checked.recipes  # recipes refuse their parameters here, before a store is made
    refuse_launch(checked)
    with secret_output(secret_to) as output:
        now = datetime.now(UTC)

        def facts_with(store: Store | None) -> Facts:
            with reading_progress("looking") as tell:
                return look_at(
                    checked,
                    store,
                    now=now,
                    sample=sample,
                    whole=everything,
                    show=show,
                    progress=tell,
                )

        facts = _looked(checked, now, facts_with)
        _write(output, facts, checked, as_json=as_json)
    if secret_to is not None:
        say(f"Written to {secret_to}: exact and secret.", err=True)


def _looked(plan: Plan, now: datetime, facts_with: Callable[[Store | None], Facts]) -> Facts:
    """The facts.  The store records that the plan was checked before any fact is shown.

    No store is made for a source that cannot be read: there was nothing to look at.
    """
    path = store_path(plan)
    there = exists(path)
    with ExitStack() as closes:
        store = closes.enter_context(closing(open_store(path))) if there else None
        facts = facts_with(store)
        if store is None and not facts.unreadable:
            store = closes.enter_context(closing(open_store(path)))
        if store is not None:
            with store.writing() as transaction:
                mark_checked(transaction, plan, now)
    return facts


def _write(output: TextIO, facts: Facts, checked: Plan, *, as_json: bool) -> None:
    if as_json:
        document = {"secret": HEADING, **facts.to_dict()}
        output.write(json.dumps(document, indent=2, default=str) + "\n")
        return
    if output is sys.stdout:
        console = Console()
    else:
        console = Console(file=output, width=PIPED_WIDTH, no_color=True)
    FactsPage(console, checked).show(facts)
