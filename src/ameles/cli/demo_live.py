"""``ameles demo --serve``: the season of the demo happens now, a day a second, on a page.

The engine, the store and the service are the real ones; only their clock is the season's.
"""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

import typer

from ameles.cli.plans import say, store_path
from ameles.cli.serve import LISTEN
from ameles.cli.stop_signals import stopping
from ameles.core.exceptions import AmelesError
from ameles.plan.plan import Plan
from ameles.simulate import Season
from ameles.simulate.live_season import LiveSeason
from ameles.store import open_store

if TYPE_CHECKING:
    import socket

PUBLIC = "\n[serve]\npublic = true            # anybody may look at the page\n"
SECONDS = 1.0  # that a day takes
TOLD = 28  # days between two lines


def serve_season(plan: Plan, season: Season, listen: str | None) -> None:
    """Follows and shows a season until Ctrl-C."""
    from ameles.service.server import url_of
    from ameles.service.service import Service

    with closing(_listening(listen)) as opened, closing(open_store(store_path(plan))) as store:
        name = plan.stream.name
        live = LiveSeason(
            plan.base / plan.stream.source,
            season,
            start=plan.clock.start_of(1),
            seconds=SECONDS,
        )
        say(f"Open {url_of(opened)}/streams/{name} in a browser.", err=True)
        say("A day of the season takes a second; Ctrl-C ends it.", err=True)
        service = Service([(plan, store)], _talk(plan), clock=live.now)
        with stopping() as stop:
            failed = service.run(opened, stop)
        with store.reading() as transaction:
            stream = transaction.stream(name)
    if failed:
        raise typer.Exit(1)
    released = 0 if stream is None else stream.released
    say(f"Ended on day {released} of {plan.stream.horizon}.", err=True)


def _listening(listen: str | None) -> socket.socket:
    """A socket where it was asked for; by default at the usual port, or at any that is free."""
    from ameles.service.server import listening

    if listen is not None:
        return listening(listen)
    try:
        return listening(LISTEN)
    except AmelesError:
        return listening("127.0.0.1:0")


def _talk(plan: Plan) -> Any:
    """A log that says what a newcomer wants to know, once in a while."""
    from ameles.service.log import Log

    last = plan.stream.horizon

    class Talk(Log):
        told = 0  # the last day that was mentioned

        def say(self, event: str, **fields: Any) -> None:
            step = fields.get("step")
            if event == "released" and isinstance(step, int) and step // TOLD > self.told // TOLD:
                self.told = step
                say(f"  day {step} of {last} is published", err=True)
            elif event == "ended":
                say(
                    f"The season is over: all {last} days are published. The page stays until "
                    "Ctrl-C.",
                    err=True,
                )
            elif event in ("refused", "failed", "sink"):
                say(" ".join([event, *map(str, fields.values())]), err=True)

    return Talk(io.StringIO())
