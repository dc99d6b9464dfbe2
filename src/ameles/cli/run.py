"""``ameles run``: reads what the source has, and releases every step that has ended."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Protocol
from zoneinfo import ZoneInfo

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, moment, progress, store_path
from ameles.core.exceptions import BadInput
from ameles.engine.clock import instant
from ameles.engine.engine import Engine
from ameles.engine.follow import follow
from ameles.engine.plan import Plan, read_plan
from ameles.store import open_store


class Report(Protocol):
    """What a run did, in steps."""

    @property
    def launched(self) -> bool: ...
    @property
    def released(self) -> int: ...
    @property
    def new(self) -> int: ...
    @property
    def horizon(self) -> int | None: ...


def run(
    file: PlanFile = DEFAULT,
    until: Annotated[
        str | None,
        typer.Option(
            help="Release the steps that end by then: a date or a time.  [default: now]",
            metavar="TIME",
        ),
    ] = None,
    following: Annotated[
        bool,
        typer.Option("--follow", help="Go on: release every step when it ends, until stopped."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release every step that has ended, and send it to the sinks.

    The first run launches the stream: it spends the plan's budget, once.  Running again is free
    and gives the same numbers.  With --follow, Ctrl-C or SIGTERM ends it after what it is doing.
    """
    checked = read_plan(file)
    if following and until is not None:
        raise BadInput(
            "--follow goes on with the clock, so --until has no meaning beside it.",
            tip="one of the two",
        )
    if as_json and any("stdout" in section.given for section in checked.sinks):
        raise BadInput(
            "The plan has a sink on standard output, where --json would print its report.",
            tip="--json without that sink, or that sink without --json",
        )
    cut = cut_off(until, checked, now=datetime.now(UTC))
    _ = checked.recipes  # what they refuse, they refuse before there is a store
    with closing(open_store(store_path(checked))) as store, progress() as tell:
        engine = Engine(checked, store, progress=tell)
        report = _follow(engine) if following else engine.run(cut)
    if as_json:
        typer.echo(json.dumps(_plain(report, checked)))
        return
    for line in _said(report, checked):
        typer.echo(line, err=True)


def _follow(engine: Engine) -> Report:
    """Until Ctrl-C or SIGTERM: a second one ends the program at once, which loses nothing."""
    stop = threading.Event()

    def ended(number: int, frame: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ended)
    return follow(engine, stop, told=_told(engine.plan))


def _told(checked: Plan) -> Callable[[int], None]:
    """A line on standard error for each release, where somebody watches."""

    def tell(step: int) -> None:
        if sys.stderr.isatty():
            ends = moment(instant(checked.clock.end_of(step + 1) + checked.stream.grace_us))
            typer.echo(f"Released up to step {step}; the next release is due {ends} UTC.", err=True)

    return tell


def cut_off(text: str | None, checked: Plan, *, now: datetime) -> datetime:
    """When the last step that may be released ends at the latest; never in the future."""
    if text is None:
        return now
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"--until must be a date or a time. Got {text[:40]!r} instead.",
            tip="--until 2026-03-01, or 2026-03-01T12:00+01:00",
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=ZoneInfo(checked.stream.zone))
    if found > now:
        raise BadInput(
            f"--until must not be in the future. Got {text[:40]!r}; it is {moment(now)} UTC.",
            why="a step that is closed before it has ended stays without the events to come",
            tip="ameles run without --until, which goes up to now",
        )
    return found.astimezone(UTC)


def _plain(report: Report, checked: Plan) -> dict[str, object]:
    return {
        "stream": checked.stream.name,
        "launched": report.launched,
        "released": report.released,
        "new": report.new,
        "horizon": report.horizon,
    }


def _said(report: Report, checked: Plan) -> list[str]:
    lines = []
    if report.launched:
        lines.append(
            f"Launched stream '{checked.stream.name}': {checked.loss} of population "
            f"'{checked.privacy.population}' is spent."
        )
    steps = "1 step" if report.new == 1 else f"{report.new or 'No new'} steps"
    was = "was" if report.new == 1 else "were"
    of = "" if report.horizon is None else f" of {report.horizon}"
    lines.append(f"{steps} {was} released; the stream is at step {report.released}{of}.")
    if report.released == report.horizon:
        lines.append("That is its last step.")
    else:
        following = report.released + 1
        ends = moment(instant(checked.clock.end_of(following)))
        lines.append(f"Step {following} ends on {ends} UTC.")
    targets = [
        target if kind != "stdout" else "standard output"
        for section in checked.sinks
        for kind, target in section.given.items()
    ]
    if targets and report.released:
        lines.append(f"Published in {', '.join(targets)}; to read here: ameles releases")
    return lines
