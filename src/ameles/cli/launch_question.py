"""What is said and asked before a launch, which spends the budget of a plan for ever.

On a terminal a person confirms it.  Elsewhere nobody could answer, and nothing is asked.  Nothing
here depends on the data.
"""

from __future__ import annotations

import sys
from datetime import datetime

import typer

from ameles.core.exceptions import AmelesError
from ameles.engine.running.plan_checks import checked_at
from ameles.plan.plan import Plan
from ameles.store import Store


class NotLaunched(AmelesError):
    """The person at the terminal did not want to spend; nothing was spent."""

    code = "launch"


def confirm_launch(plan: Plan, store: Store | None, *, yes: bool, quiet: bool) -> None:
    """Says whether a plan was checked, and on a terminal asks whether it is to be launched.

    Does neither for a stream that was launched before; ``None``: there is no store yet.
    """
    checked = None
    if store is not None:
        with store.reading() as transaction:
            if transaction.stream(plan.stream.name) is not None:
                return
            checked = checked_at(transaction, plan)
    if not quiet:
        typer.echo(check_note(checked), err=True)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    typer.echo(
        f"Launching stream '{plan.stream.name}' spends {plan.loss} of population "
        f"'{plan.privacy.population}', for ever: it is never given back, and the plan cannot "
        "change after it. Launch it? [y/N] ",
        nl=False,
        err=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotLaunched(
            f"Stream '{plan.stream.name}' was not launched, and nothing was spent.",
            tip="ameles run --yes launches without asking",
        )


def check_note(checked: datetime | None) -> str:
    """Whether a plan was checked against its source, for a person."""
    if checked is None:
        return (
            "This plan was never checked against its source: ameles check shows you, in secret, "
            "what would be counted."
        )
    return f"This plan was checked against its source on {checked:%Y-%m-%d %H:%M} UTC."
