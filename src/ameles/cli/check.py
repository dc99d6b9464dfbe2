"""``ameles check``: the owner's secret look at the source, before anything is spent."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console

from ameles.cli.check_report import Page
from ameles.cli.launchable import refuse_launch
from ameles.cli.plans import (
    DEFAULT,
    PIPED_WIDTH,
    AsJson,
    PlanFile,
    reading_progress,
    store_path,
)
from ameles.cli.secret_output import HEADING, SecretTo, secret_output
from ameles.core.exceptions import BadInput
from ameles.engine.owner_check.check import check as look_at
from ameles.engine.owner_check.facts import Facts
from ameles.engine.plan import Plan, read_plan
from ameles.engine.plan_checks import mark_checked
from ameles.store import open_store


def check(
    file: PlanFile = DEFAULT,
    sample: Annotated[
        Path | None,
        typer.Option(help="Lines as they will come, for a source that is standard input."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Look at all of the source, also at what a launched stream has taken."
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show values that do not fit or are no declared key.")
    ] = False,
    secret_to: SecretTo = None,
    as_json: AsJson = False,
) -> None:
    """Look at the source in secret: what a run would read, count and leave out.

    Exact numbers, for whoever holds the data: on a terminal, or in a new file with --secret-to.
    Nothing is spent and nothing changes; that you looked is kept, and what you saw is not.  To
    choose epsilon, bounds or keys by what you see is outside of the guarantee.
    """
    if as_json and secret_to is None:
        raise BadInput("--json is for a file.", tip="--secret-to FILE beside it")
    checked = read_plan(file)
    _ = checked.recipes  # what they refuse, they refuse before there is a store
    refuse_launch(checked)
    with secret_output(secret_to) as output:
        with closing(open_store(store_path(checked))) as store:
            now = datetime.now(UTC)
            with reading_progress("looking") as tell:
                facts = look_at(
                    checked,
                    store,
                    now=now,
                    sample=sample,
                    whole=everything,
                    show=show,
                    progress=tell,
                )
            # before anything is shown: what was seen was looked at
            with store.writing() as transaction:
                mark_checked(transaction, checked, now)
        _write(output, facts, checked, as_json=as_json)
    if secret_to is not None:
        typer.echo(f"Written to {secret_to}: exact and secret.", err=True)


def _write(output: TextIO, facts: Facts, checked: Plan, *, as_json: bool) -> None:
    if as_json:
        found = {"secret": HEADING, **facts.to_dict()}
        output.write(json.dumps(found, indent=2, default=str) + "\n")
        return
    if output is sys.stdout:
        console = Console()
    else:
        console = Console(file=output, width=PIPED_WIDTH, no_color=True)
    Page(console, checked).show(facts)
