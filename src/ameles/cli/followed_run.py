"""``ameles run --follow``: what is said while a stream is followed, and standing by for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from ameles.cli.plans import moment, say
from ameles.cli.stop_signals import stopping
from ameles.connectors.source import SeekableSource
from ameles.core.exceptions import BadInput
from ameles.engine.engine import Engine
from ameles.engine.following.follow import follow
from ameles.engine.following.standby import Standby
from ameles.engine.running.session import Report
from ameles.plan.clock import instant
from ameles.plan.plan import Plan
from ameles.store import exists, open_store

STOPS = "Ctrl-C or SIGTERM ends it"


def check_standby(checked: Plan, *, following: bool) -> None:
    """Refuses --standby where there is nothing that another process could take over."""
    if not following:
        raise BadInput(
            "--standby needs --follow.",
            why="a single run ends at once, and leaves nothing to take over",
            tip="--follow --standby",
        )
    if not issubclass(checked.stream.source_kind, SeekableSource):
        raise BadInput(
            "--standby needs a source that can be read from where another process stopped.",
            why="events that pass once are with the process that received them",
            tip="files, or a broker or table that both processes can read",
        )


def wait_for_store(url: str) -> bool:
    """Stands by until the store at an address can be used; False if it is stopped meanwhile."""

    def look() -> bool:
        if exists(url):
            open_store(url, create=False).close()
        return True

    with stopping() as stop:
        return Standby(stop, partial(say, err=True)).run(look) is not None


def follow_plan(
    engine: Callable[[], Engine], checked: Plan, *, standby: bool, quiet: bool
) -> Report | None:
    """Follows the stream until the horizon, or until it is stopped."""
    talk = _Talk(checked, quiet=quiet)

    with stopping() as stop:
        waiting = Standby(stop, talk.failing)

        def begun(report: Report) -> None:
            waiting.begun()
            talk.begun(report)

        def following() -> Report:
            return follow(engine(), stop, begun=begun, told=talk.told, failing=talk.failing)

        return waiting.run(following) if standby else following()


class _Talk:
    """Messages on standard error while a stream is followed: steps and times, no data."""

    def __init__(self, checked: Plan, *, quiet: bool) -> None:
        self._plan = checked
        self._quiet = quiet

    def begun(self, report: Report) -> None:
        """Says that following has begun, on a terminal and in the log of a service."""
        if self._quiet:
            return
        if report.launched:
            say(launched(self._plan), err=True)
        stream = self._plan.stream
        what = stream.source_kind.describe(stream.source)
        say(f"Following {what} from step {report.released + 1} on; {STOPS}.", err=True)

    def told(self, step: int) -> None:
        """Prints a line for each release, on a terminal only: it would fill a log."""
        if self._quiet or not sys.stderr.isatty() or step == self._plan.stream.horizon:
            return
        due = self._plan.clock.end_of(step + 1) + self._plan.stream.grace_us
        due_at = moment(instant(due))
        say(f"Released up to step {step}; the next release is due {due_at} UTC.", err=True)

    def failing(self, said: str) -> None:
        """Says that a sink fails, or works again: always, because a log should have it."""
        say(said, err=True)


def launched(checked: Plan) -> str:
    """The sentence that says what a launch has spent."""
    return (
        f"Launched stream '{checked.stream.name}': {checked.loss} of population "
        f"'{checked.privacy.population}' is spent."
    )
