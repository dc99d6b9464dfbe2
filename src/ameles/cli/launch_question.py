"""Asks before a launch, because it spends the budget of a plan forever.

On a terminal a person confirms it.  Elsewhere nobody could answer, so nothing is asked.  Nothing
here depends on the data.
"""

from __future__ import annotations

import sys
from datetime import datetime

from ameles.cli.plans import say
from ameles.core.exceptions import AmelesError
from ameles.engine.running.plan_checks import checked_at
from ameles.plan.forecast import payer_words
from ameles.plan.plan import Plan
from ameles.store import Store


class NotLaunched(AmelesError):
    """The person at the terminal said no; nothing was spent."""

    code = "launch"


def confirm_launch(plan: Plan, store: Store | None, *, yes: bool, quiet: bool) -> None:
    """Says whether a plan was checked, and on a terminal asks whether to launch it.

    Does neither for a stream that was launched before.  ``store`` is ``None`` if there is none yet.
    """
    checked = None
    if store is not None:
        with store.reading() as transaction:
            if transaction.stream(plan.stream.name) is not None:
                return
            checked = checked_at(transaction, plan)
    if not quiet:
        say(check_note(checked), err=True)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    say(
        f"Launching stream '{plan.stream.name}' spends {plan.loss} of {payer_words(plan)} "
        "forever: it is never given back, and the plan cannot change afterwards. Launch it? [y/N] ",
        nl=False,
        err=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotLaunched(
            f"Stream '{plan.stream.name}' was not launched, and nothing was spent.",
            tip="ameles run --yes launches without asking",
        )


def check_note(checked: datetime | None) -> str:
    """A sentence that says whether a plan was checked against its source."""
    if checked is None:
        return (
            "This plan was never checked against its source: ameles check shows you, in secret, "
            "what would be counted."
        )
    return (
        f"Somebody looked at what this plan would count on {checked:%Y-%m-%d %H:%M} UTC "
        "(ameles check); whether it was right is not recorded."
    )
