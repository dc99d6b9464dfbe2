"""``ameles intrusion``: announces that the state of a pan-private stream was seen."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, PlanFile, launched, moment, store_path, stored, table
from ameles.core.exceptions import BadInput
from ameles.engine.engine import Engine
from ameles.engine.plan import read_plan
from ameles.engine.sealed import SealedSession
from ameles.store import open_store

intrusion = typer.Typer(
    help="Announce intrusions into a pan-private stream, and list them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@intrusion.command()
def announce(
    why: Annotated[str, typer.Option(help="What happened; kept for ever.", metavar="TEXT")],
    file: PlanFile = DEFAULT,
) -> None:
    """Make the state one that nobody has seen, and note it.

    The stream must not be running: stop it, announce, start it again.  Each announcement adds one
    noise to every later count; the intervals say so.
    """
    checked = read_plan(file)
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
    typer.echo(
        f"Noted as intrusion {count}. The state has fresh noise, whose cost is in the intervals "
        "from the next release on; the privacy loss stays as it was.",
        err=True,
    )


@intrusion.command(name="list")
def listed(file: PlanFile = DEFAULT) -> None:
    """List the intrusions that were announced."""
    checked = read_plan(file)
    with stored(checked) as store, store.reading() as transaction:
        found = transaction.intrusions(launched(transaction, checked))
    table(
        ("intrusion", "on", "what happened"),
        [(str(i.number), moment(i.at), i.why) for i in found],
        left=3,
    )
