"""``ameles explain``: where one published number comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, known, launched, moment, stored
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.loss import loss_to_dict
from ameles.core.release import Release
from ameles.core.words import brief
from ameles.ledger.entry import Entry
from ameles.measures.measure import Measure
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.plan.clock import instant
from ameles.plan.forecast import forecasts
from ameles.plan.plan import Plan, read_plan
from ameles.store import EpochRecord, StreamRecord

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
        known("release", name, [line.release for line in transaction.series(stream)])
        _released(name, step, stream, checked)
        releases = list(transaction.releases(stream, release=name, first=step, last=step))
        ledger = transaction.ledger(stream.population)
        anew = [epoch for epoch in transaction.epochs(stream) if epoch.released < step]
        seen = bool(transaction.intrusions(stream))
    entries = [] if ledger is None else [e for e in ledger.entries if e.number == releases[0].entry]
    if not entries:
        raise StoreRefused(f"The ledger has no entry that paid for release '{name}'.")
    if as_json:
        typer.echo(json.dumps(_report(checked, releases, entries[0]), indent=2))
        return
    known("release", name, [release.name for release in checked.releases])
    _say(checked, releases, entries[0], anew, seen=seen)


def _released(name: str, step: int, stream: StreamRecord, checked: Plan) -> None:
    horizon = checked.stream.horizon
    if horizon is not None and step > horizon:
        last = stream.released
        raise BadInput(
            f"The stream has {horizon} steps. Got step {step} instead.",
            tip=f"ameles explain {name} {last}" if last else "ameles run, which releases step 1",
        )
    if step > stream.released:
        raise BadInput(
            f"Step {step} was not released yet; the stream is at step {stream.released}.",
            tip=f"ameles run, after the end of step {step} on "
            f"{moment(instant(checked.clock.end_of(step)))} UTC",
        )


def _promise(checked: Plan, entry: Entry) -> Guarantee:
    """The guarantee with the plan's intrusions.

    A mechanism may withstand intrusions that the plan does not promise to withstand: its source
    may keep the raw events.
    """
    return replace(entry.guarantee, intrusions=Intrusions(checked.privacy.intrusions))


def _report(checked: Plan, releases: list[Release], entry: Entry) -> dict[str, object]:
    return {
        "releases": [release.to_dict() for release in releases],
        "recipe": json.loads(entry.recipe),
        "guarantee": _promise(checked, entry).to_dict(),
        "entry": {
            "number": entry.number,
            "at": entry.at.isoformat(),
            "on": entry.on,
            "why": entry.why,
            "paid": loss_to_dict(entry.paid),
        },
    }


def _say(
    checked: Plan,
    releases: list[Release],
    entry: Entry,
    anew: Sequence[EpochRecord] = (),
    *,
    seen: bool = False,
) -> None:
    measure = next(m for m in checked.releases if m.name == releases[0].release)
    recipe, privacy = recipe_from_json(entry.recipe), checked.privacy
    forecast = next(f for f in forecasts(checked) if f.release == measure.name)
    typer.echo(f"{measure.name}, step {releases[0].step}: {_about(checked, measure, releases[0])}")
    for release in releases[:SHOWN]:
        typer.echo(f"  {_line(release)}")
    if len(releases) > SHOWN:
        typer.echo(f"  ... and {len(releases) - SHOWN} other keys")
    ended = tuple(epoch.released for epoch in anew)
    terms = replace(checked.terms(measure), ended=ended)
    step = None if seen else releases[0].step  # no store says before which step an intrusion was
    lines = {
        "mechanism": f"{forecast.mechanism}, because {forecast.why}",
        "noise": measure.noise_in_words(recipe, terms, step),
        "interval": measure.interval_in_words(recipe, terms),
        "": "it covers the privacy noise only, not events that were late or exceeded the bounds",
        "guarantee": str(_promise(checked, entry)),
        "ledger": f"entry {entry.number} of population '{privacy.population}': {entry}",
    }
    if anew:
        last = anew[-1]
        goes_on = "users are counted anew" if privacy.user else "its noise adds to the noise before"
        lines["restart"] = f"number {len(anew)}, after step {last.released} ({last.why}): {goes_on}"
    for head, text in lines.items():
        typer.echo(f"{head:10} {text}")


def _about(checked: Plan, measure: Measure, release: Release) -> str:
    """The measure of a number and the time that it covers."""
    window = checked.window(measure)
    first = 1 if window is None else max(1, release.step - window + 1)
    start = instant(checked.clock.start_of(first))
    return f"{measure.measure} from {moment(start)} to {moment(release.end)} UTC"


def _line(release: Release) -> str:
    key = f"{release.key}: " if release.key else ""
    if release.low is None:
        return f"{key}{release.label or brief(release.value)}"
    label = f"{release.label}, " if release.label else ""
    interval = f"{brief(release.low)} to {brief(release.high)}"
    return f"{key}{label}{brief(release.value)}, interval {interval}"
