"""``ameles intrusion``: announces that the state of a pan-private stream was seen."""

from __future__ import annotations

from contextlib import closing
from enum import Enum
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, PlanFile, launched, moment, store_path, stored, table
from ameles.core.exceptions import BadInput
from ameles.engine.engine import Engine
from ameles.engine.plan import Plan, read_plan
from ameles.engine.sealed import SealedSession
from ameles.store import open_store


class Action(Enum):
    """What is to be done about intrusions."""

    ANNOUNCE = "announce"
    LIST = "list"


def intrusion(
    action: Annotated[Action, typer.Argument(help="announce one, or list those announced.")],
    file: PlanFile = DEFAULT,
    why: Annotated[
        str | None, typer.Option(help="What happened; kept for ever.", metavar="TEXT")
    ] = None,
) -> None:
    """Announce that the state of a pan-private stream was seen, or list when it was.

    Announcing makes the state one that nobody has seen.  The stream must not be running: stop it,
    announce, start it again.  Each announcement adds one noise to every later count, which the
    intervals include; the privacy loss stays as it was.
    """
    checked = read_plan(file)
    if action is Action.LIST:
        _show(checked)
        return
    if not why:
        raise BadInput(
            "An announcement needs --why.",
            why="it is kept for ever, for those whom the data is about",
            tip="--why 'the laptop was stolen'",
        )
    with stored(checked):
        pass  # refused here if there is none: a session would launch the stream
    with (
        closing(open_store(store_path(checked), create=False)) as store,
        Engine(checked, store).session() as session,
    ):
        if not isinstance(session, SealedSession):
            raise BadInput(
                "The state of this stream is secret, and is not protected once it was seen.",
                why='its plan has intrusions = "none"',
                tip='a plan with intrusions = "announced", launched with a budget of its own',
            )
        count = session.announce(why)
    typer.echo(f"Noted as intrusion {count}; the state has fresh noise.", err=True)


def _show(checked: Plan) -> None:
    with stored(checked) as store, store.reading() as transaction:
        found = transaction.intrusions(launched(transaction, checked))
    rows = [(str(one.number), moment(one.at), one.why) for one in found]
    table(("intrusion", "on", "what happened"), rows, left=3)
    if not found:
        typer.echo("None was announced.", err=True)
