"""``ameles run``: reads the source, and releases every step that has ended."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from ameles.cli.engine_choice import (
    BucketsOption,
    EngineChoice,
    EngineOption,
    EnginePlace,
    MasterOption,
    SettingsOption,
    SharedOption,
)
from ameles.cli.followed_run import check_standby, follow_plan, launched, wait_for_store
from ameles.cli.launch_refusals import confirm_launch, refuse_launch
from ameles.cli.plans import (
    DEFAULT,
    AsJson,
    PlanFile,
    moment,
    name_plan,
    plan_named,
    progress,
    say,
    store_path,
    with_plan,
)
from ameles.connectors.declarations import Declarations
from ameles.connectors.files.named_files import list_names
from ameles.connectors.objects.source import ObjectSource
from ameles.connectors.sinks import SINKS
from ameles.core.exceptions import AmelesError, BadInput, SourceUnreadable
from ameles.engine.engine import Engine, needs_service
from ameles.engine.running.session import Report
from ameles.plan.clock import instant
from ameles.plan.plan import Plan, read_plan
from ameles.plan.source import check_source
from ameles.store import exists, open_store


def run(
    file: PlanFile = DEFAULT,
    until: Annotated[
        str | None,
        typer.Option(
            help="Release the steps that end by this date or time.  [default: now]",
            metavar="TIME",
        ),
    ] = None,
    following: Annotated[
        bool,
        typer.Option("--follow", help="Keep running: release every step when it ends."),
    ] = False,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="With --follow: wait while another process runs the stream, and take over when it "
            "ends.",
        ),
    ] = False,
    restart: Annotated[
        str | None,
        typer.Option(
            help="Begin again after the state of a pan-private stream was lost; says what "
            "happened, kept forever.",
            metavar="TEXT",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Launch without asking; off a terminal, a launch needs it."),
    ] = False,
    same_file: Annotated[
        list[str] | None,
        typer.Option(
            help="A file or pattern that was copied or restored: go on reading where the last run "
            "stopped.",
            metavar="FILE",
        ),
    ] = None,
    new_file: Annotated[
        list[str] | None,
        typer.Option(
            help="A file or pattern that has replaced another file of that name: count all of it.",
            metavar="FILE",
        ),
    ] = None,
    skip_gap: Annotated[
        str | None,
        typer.Option(
            help="Go on without messages that a broker removed unread; says what happened, kept "
            "forever.",
            metavar="TEXT",
        ),
    ] = None,
    engine: EngineOption = EnginePlace.embedded,
    master: MasterOption = None,
    shared: SharedOption = None,
    buckets: BucketsOption = None,
    spark: SettingsOption = None,
    as_json: AsJson = False,
) -> None:
    """Release every step that has ended, and send it to the sinks.

    The first run launches the stream: it spends the plan's budget, once.  Running again is free and
    gives the same numbers.  With --follow, Ctrl-C or SIGTERM ends it as soon as its current work is
    stored; a second one ends it at once, and the next run goes on from what is stored.
    """
    checked = read_plan(file)
    if following and until is not None:
        raise BadInput(
            "--follow continues with the clock, so --until cannot be given with it.",
            tip="one of the two",
        )
    if standby:
        check_standby(checked, following=following)
    if as_json and any("stdout" in section.given for section in checked.sinks):
        raise BadInput(
            "The plan has a sink on standard output, and --json would print its report there too.",
            tip="--json without that sink, or that sink without --json",
        )
    _check_reason("--restart", restart, "the power failed")
    _check_reason("--skip-gap", skip_gap, "the topic kept its messages for a day only")
    choice = EngineChoice(
        engine=engine, plan=checked, master=master, shared=shared, buckets=buckets, settings=spark
    )
    choice.check()
    if checked.stream.source_kind.needs_service:
        raise needs_service(checked)
    cut = cut_off(until, checked, now=datetime.now(UTC))
    _ = checked.recipes  # recipes refuse their parameters here, before a store is made
    if standby and not wait_for_store(store_path(checked)):
        return
    note = "" if refuse_launch(checked) else check_source(checked, waiting=following)
    declarations = _declared(checked, same_file or [], new_file or [], skip_gap)
    unread: list[AmelesError] = []
    running = partial(
        Engine, checked, restart=restart, declarations=declarations, warn=_Warning(unread, file)
    )
    confirmed = partial(
        confirm_launch,
        checked,
        file=file,
        yes=yes,
        quiet=as_json,
        restart=restart is not None,
        note=note,
    )
    with plan_named(file):  # a refusal, or a person who says no, leaves no empty store behind
        launches = not exists(store_path(checked)) and confirmed(None)
    with plan_named(file), closing(open_store(store_path(checked))) as store:
        launches = launches or confirmed(store)
        with choice.cluster() as cluster:
            begun = partial(running, store, cluster=cluster, launches=launches)
            if following:
                report = follow_plan(begun, checked, standby=standby, quiet=as_json)
            else:
                with progress() as tell:
                    report = begun(progress=tell).run(cut)
    if report is None:
        return  # it stood by until it was stopped
    if as_json:
        typer.echo(json.dumps(_plain(report, checked)))
    else:
        if report.launched and not following:
            say(launched(checked), err=True)
        for line in _said(report, checked, file):
            say(line, err=True)
    if unread and not following:
        raise typer.Exit(SourceUnreadable.exit_code)  # the other files were read


def _check_reason(option: str, text: str | None, example: str) -> None:
    if text is not None and not text.strip():
        raise BadInput(
            f"{option} needs a text that says what happened.",
            why="it is kept forever, for the people whom the data is about",
            tip=f"{option} '{example}'",
        )


def _declared(checked: Plan, same: list[str], new: list[str], skip_gap: str | None) -> Declarations:
    """The declarations about files; warns on standard error about those that match no file."""
    both = sorted({*same} & {*new})
    if both:
        raise BadInput(
            f"--same-file and --new-file are both given for '{both[0]}'.",
            why="a file is either the one that was read before, or a different one",
            tip="one of the two",
        )
    declarations = Declarations(same=tuple(same), new=tuple(new), skip_gap=skip_gap)
    stream = checked.stream
    if issubclass(stream.source_kind, ObjectSource):
        return declarations  # to list a bucket may take long, and it is listed soon
    patterns = [stream.source, *stream.rotated]
    names = {file.name for text in patterns for file in list_names(text, checked.base)}
    for option in declarations.unmatched(names):
        say(
            f"{option} matches no file of the source {stream.source!r}, and changes nothing. "
            "Paths are relative to the folder of the plan, as in the plan.",
            err=True,
        )
    return declarations


class _Warning:
    """Prints each file that cannot be read on standard error, and keeps it for the exit code."""

    def __init__(self, unread: list[AmelesError], file: Path) -> None:
        self._unread = unread
        self._file = file

    def __call__(self, problem: AmelesError) -> None:
        self._unread.append(problem)
        said = str(name_plan(problem, self._file))
        say(said.replace("error[", "warning[", 1), err=True)


def cut_off(text: str | None, checked: Plan, *, now: datetime) -> datetime:
    """The cut-off: steps that end by it are released.  It is never in the future."""
    if text is None:
        return now
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"--until must be a date or a time. Got {text[:40]!r} instead.",
            tip="--until 2026-03-01, or 2026-03-01T12:00+01:00",
        ) from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=ZoneInfo(checked.stream.zone))
    if instant > now:
        raise BadInput(
            f"--until must not be in the future. Got {text[:40]!r}; it is {moment(now)} UTC.",
            why="a step that is closed before its end would miss the events still to come",
            tip="ameles run without --until, which goes up to now",
        )
    return instant.astimezone(UTC)


def _plain(report: Report, checked: Plan) -> dict[str, object]:
    return {
        "stream": checked.stream.name,
        "launched": report.launched,
        "released": report.released,
        "new": report.new,
        "horizon": report.horizon,
    }


def _said(report: Report, checked: Plan, file: Path) -> list[str]:
    lines = []
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
        SINKS[kind].describe(target)
        for section in checked.sinks
        for kind, target in section.given.items()
    ]
    if targets and report.released:
        shown = with_plan("ameles releases", file)
        lines.append(f"Published in {', '.join(targets)}; to see it here: {shown}")
    return lines
