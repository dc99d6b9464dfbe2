"""``ameles explain``: where one published number comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import (
    DEFAULT,
    AsJson,
    PlanFile,
    known,
    launched,
    moment,
    say,
    stored,
    with_plan,
)
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.loss import loss_to_dict
from ameles.core.release import Release
from ameles.core.words import brief
from ameles.engine.running.explanation import Explanation, promise
from ameles.ledger.entry import Entry
from ameles.measures.key_words import not_published
from ameles.measures.measure import Measure
from ameles.plan.clock import instant
from ameles.plan.plan import Plan, read_plan
from ameles.store import StreamRecord

SHOWN = 10


def explain(
    name: Annotated[str, typer.Argument(help="The release, by name.")],
    step: Annotated[int, typer.Argument(help="The step, from 1.", min=1)],
    file: PlanFile = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Say where the numbers of one release and step come from.

    Shows the mechanism, its noise, the interval, and the ledger entry that paid for it.
    """
    checked = read_plan(file)
    with stored(checked) as store, store.reading() as transaction:
        stream = launched(transaction, checked)
        paid_by = transaction.entries_of(stream)
        known("release", name, list(paid_by))
        _released(name, step, stream, checked, file)
        releases = list(transaction.releases(stream, release=name, first=step, last=step))
        ledger = transaction.ledger(stream.population)
        anew = [epoch for epoch in transaction.epochs(stream) if epoch.released < step]
        seen = bool(transaction.intrusions(stream))
    entries = [] if ledger is None else [e for e in ledger.entries if e.number == paid_by[name]]
    if not entries:
        raise StoreRefused(f"The ledger has no entry that paid for release '{name}'.")
    if as_json:
        typer.echo(json.dumps(_report(checked, releases, entries[0]), indent=2))
        return
    known("release", name, [release.name for release in checked.releases])
    measure = next(m for m in checked.releases if m.name == name)
    _say(Explanation(checked, measure, entries[0], anew, seen), releases, step)


def _released(name: str, step: int, stream: StreamRecord, checked: Plan, file: Path) -> None:
    horizon = checked.stream.horizon
    if horizon is not None and step > horizon:
        last = stream.released
        raise BadInput(
            f"The stream has {horizon} steps. Got step {step} instead.",
            tip=with_plan(f"ameles explain {name} {last}", file)
            if last
            else f"{with_plan('ameles run', file)}, which releases step 1",
        )
    if step > stream.released:
        raise BadInput(
            f"Step {step} was not released yet; the stream is at step {stream.released}.",
            tip=f"{with_plan('ameles run', file)}, after the end of step {step} on "
            f"{moment(instant(checked.clock.end_of(step)))} UTC",
        )


def _report(checked: Plan, releases: list[Release], entry: Entry) -> dict[str, object]:
    return {
        "releases": [release.to_dict() for release in releases],
        "recipe": json.loads(entry.recipe),
        "guarantee": promise(checked, entry).to_dict(),
        "entry": {
            "number": entry.number,
            "at": entry.at.isoformat(),
            "on": entry.on,
            "why": entry.why,
            "paid": loss_to_dict(entry.paid),
        },
    }


def _say(told: Explanation, releases: list[Release], step: int) -> None:
    measure, anew = told.measure, told.epochs
    say(f"{measure.name}, step {step}: {_about(told.plan, measure, step)}")
    if not releases:
        say(f"  {not_published(measure.discovered or '')} at this step")
    for release in releases[:SHOWN]:
        say(f"  {_line(release)}")
    if len(releases) > SHOWN:
        say(f"  ... and {len(releases) - SHOWN} other keys")
    texts = told.texts()
    lines = {
        "mechanism": texts["mechanism"],
        "noise": told.noise(step),
        "interval": texts["interval"],
        "": texts["covers"],
        "guarantee": texts["guarantee"],
        "ledger": texts["ledger"],
    }
    if anew:
        lines["restart"] = told.restarts()[-1][1]
    for head, text in lines.items():
        say(f"{head:10} {text}")


def _about(checked: Plan, measure: Measure, step: int) -> str:
    """The measure of a number and the time that it covers."""
    window = checked.window(measure)
    first = 1 if window is None else max(1, step - window + 1)
    start, end = instant(checked.clock.start_of(first)), instant(checked.clock.end_of(step))
    return f"{measure.measure} from {moment(start)} to {moment(end)} UTC"


def _line(release: Release) -> str:
    key = f"{release.key}: " if release.key else ""
    if release.low is None:
        return f"{key}{release.label or brief(release.value)}"
    label = f"{release.label}, " if release.label else ""
    interval = f"{brief(release.low)} to {brief(release.high)}"
    return f"{key}{label}{brief(release.value)}, interval {interval}"
