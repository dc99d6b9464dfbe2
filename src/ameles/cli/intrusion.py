"""``ameles intrusion``: announces that somebody saw the state of a pan-private stream."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import Enum
from typing import Annotated

import numpy as np
import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, launched, moment, say, stored, table
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.words import brief
from ameles.engine.engine import Engine
from ameles.measures.measure import Measure
from ameles.plan.forecast import LOOKED_AHEAD
from ameles.plan.plan import Plan, read_plan
from ameles.store import Store


class IntrusionAction(Enum):
    """What is to be done about intrusions."""

    ANNOUNCE = "announce"
    LIST = "list"


def intrusion(
    action: Annotated[
        IntrusionAction, typer.Argument(help="announce one, or list those announced.")
    ],
    file: PlanFile = DEFAULT,
    why: Annotated[
        str | None, typer.Option(help="What happened; kept forever.", metavar="TEXT")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Announce that the state of a pan-private stream was seen, or list when it was.

    Announcing replaces the state with one that nobody has seen.  The stream must not be running:
    stop it, announce, start it again.  Each announcement adds fresh noise once to every later
    count; the intervals include it, and the privacy loss stays the same.  Users are counted anew
    instead, and that uses up one of the restarts that were paid for.
    """
    checked = read_plan(file)
    if action is IntrusionAction.LIST:
        _show(checked, as_json)
        return
    if not why:
        raise BadInput(
            "An announcement needs --why.",
            why="it is kept forever, for the people whom the data is about",
            tip="--why 'the laptop was stolen'",
        )
    with stored(checked, reading=False) as store:
        with store.reading() as transaction:
            launched(transaction, checked)
        count = _announce(checked, store, why)
    cost = _cost(checked, count)
    if as_json:
        typer.echo(json.dumps({"intrusion": count, "half_widths": cost}))
        return
    if checked.privacy.user is not None:
        say(f"Noted as intrusion {count}; users are counted anew from here on.", err=True)
        say(_left(checked), err=True)
        return
    say(f"Noted as intrusion {count}; the state has fresh noise.", err=True)
    for release, (before, after) in cost.items():
        say(f"{release}: ± {brief(before)} at the last step becomes ± {brief(after)}.")


def _announce(checked: Plan, store: Store, why: str) -> int:
    _check_stopped(checked, store)
    with Engine(checked, store, launches=False).session() as session:
        return session.announce(why)


def _left(checked: Plan) -> str:
    """How often the stream can begin anew after this."""
    reserved = checked.privacy.restarts
    with stored(checked) as store, store.reading() as transaction:
        left = reserved - len(transaction.epochs(launched(transaction, checked)))
    if left:
        return f"{left} of {reserved} restarts are left."
    return "No restart is left: if the state is seen or lost again, the stream has to end."


def _check_stopped(checked: Plan, store: Store) -> None:
    try:
        with store.holding(checked.stream.name):
            return
    except StoreRefused as refusal:
        held = refusal.what
    raise StoreRefused(
        held,
        why="it has the seen state in memory, and would overwrite the new state with it",
        tip="stop it with SIGTERM, announce, and start it again; what arrives meanwhile is not "
        "counted",
    )


def _cost(checked: Plan, count: int) -> dict[str, tuple[float, float]]:
    """The half-widths of intervals at the last step, before this announcement and after it."""
    last = np.array([checked.stream.horizon or LOOKED_AHEAD])

    def half(release: Measure, announced: int) -> float:
        terms = replace(checked.terms(release), announced=announced)
        return float(release.half_widths(checked.recipes[release.name], terms, last)[0])

    return {one.name: (half(one, count - 1), half(one, count)) for one in checked.releases}


def _show(checked: Plan, as_json: bool) -> None:
    with stored(checked) as store, store.reading() as transaction:
        intrusions = transaction.intrusions(launched(transaction, checked))
    if as_json:
        named = [
            {"intrusion": one.number, "on": f"{one.at:%Y-%m-%dT%H:%M:%SZ}", "why": one.why}
            for one in intrusions
        ]
        typer.echo(json.dumps(named))
        return
    rows = [(str(one.number), moment(one.at), one.why) for one in intrusions]
    table(("intrusion", "on", "what happened"), rows, left=3)
    if not intrusions:
        say("No intrusion was announced.", err=True)
