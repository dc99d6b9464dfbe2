"""What comes before a launch, because it spends the budget of a plan forever.

What the launch would refuse is refused before a store is made and before anybody is asked.  Then
somebody must say yes: at a terminal, or with --yes.  Nothing here depends on the data.
"""

from __future__ import annotations

import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from ameles.cli.plans import say, store_path, with_plan
from ameles.core.exceptions import AmelesError, NotLaunched, PlanError
from ameles.engine.running.launch import (
    check_new_payer,
    check_paid,
    check_payer,
    check_price,
    check_unchanged,
    not_launched,
)
from ameles.engine.running.launch_checks import check_launch
from ameles.engine.running.plan_checks import checked_at
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.engine.running.window_phase import check_window
from ameles.engine.sealed.restart import nothing_to_restart
from ameles.plan.forecast import payer_words
from ameles.plan.plan import Plan
from ameles.plan.source import check_source
from ameles.store import Store, exists, open_store


def refuse_launch(plan: Plan) -> bool:
    """Refuses a plan that could not be launched; returns whether its stream exists already.

    A store that cannot be opened is not refused here, but when it is needed.
    """
    try:
        if exists(store_path(plan)):
            return _in_store(plan)
        check_launch(plan)
        check_new_payer(plan)
    except PlanError:
        raise
    except AmelesError:
        check_launch(plan)
    return False


def _in_store(plan: Plan) -> bool:
    with (
        closing(open_store(store_path(plan), create=False)) as store,
        store.reading() as transaction,
    ):
        launched = transaction.stream(plan.stream.name) is not None
        if not launched:
            check_launch(plan)
            check_window(transaction, plan)
            check_payer(transaction, plan)
    return launched


def refuse_changed(plan: Plan) -> None:
    """Refuses a plan that is no longer the one with which its stream was launched."""
    try:
        if not exists(store_path(plan)):
            return
        with closing(open_store(store_path(plan), create=False, reading=True)) as store:
            with store.reading() as transaction:
                stream = transaction.stream(plan.stream.name)
            if stream is not None:
                check_unchanged(plan, stream)
    except PlanError:
        raise
    except AmelesError:
        return  # a store that cannot be opened is not refused here, but when it is needed


def at_terminal() -> bool:
    """Whether somebody can be asked: both the question and the answer need a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm_launch(
    plan: Plan,
    store: Store | None,
    *,
    file: Path,
    yes: bool,
    quiet: bool = False,
    restart: bool = False,
    note: str = "",
) -> bool:
    """Whether this command launches the stream; False if it was launched before.

    Refuses what the launch would refuse, says whether the plan was checked, and then needs a yes.
    ``store`` is ``None`` if there is none yet; ``note`` is said about the source.
    """
    checked = None
    if store is None:
        _refuse_new(plan, restart=restart)
        check_price(plan)
    else:
        with store.reading() as transaction:
            if transaction.stream(plan.stream.name) is not None:
                return False
            _refuse_new(plan, restart=restart)
            check_paid(transaction, plan)
            checked = checked_at(transaction, plan)
    if not quiet:
        say(check_note(checked, file), err=True)
        if note:
            say(note, err=True)
    if not yes:
        _ask(plan)
    return True


def _refuse_new(plan: Plan, *, restart: bool) -> None:
    """Refuses a restart of what never ran, and sinks that cannot take a first step."""
    if restart:
        raise nothing_to_restart(plan)
    StreamSinks(plan, uuid4()).check_new()


def _ask(plan: Plan) -> None:
    """Asks at the terminal whether to launch the stream."""
    if not at_terminal():
        raise not_launched(plan)
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


def check_note(checked: datetime | None, file: Path) -> str:
    """A sentence that says whether a plan was checked against its source."""
    if checked is None:
        return (
            f"This plan was never checked against its source: {with_plan('ameles check', file)} "
            "shows you, in secret, what would be counted, before anything is spent."
        )
    return (
        f"Somebody looked at what this plan would count on {checked:%Y-%m-%d %H:%M} UTC "
        "(ameles check); whether it was right is not recorded."
    )


def source_note(plan: Plan) -> str:
    """What a run would refuse or could not compare in the source as it is now; empty if nothing."""
    try:
        return check_source(plan)
    except AmelesError as refusal:
        return f"A run would refuse the source as it is now: {refusal.what}"
