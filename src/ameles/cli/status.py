"""``ameles status``: how a stream is doing; it shows nothing about the data."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, launched, moment, say, stored
from ameles.core.exceptions import StoreRefused
from ameles.engine.running.stream_sinks import SinkState, sink_states
from ameles.engine.sealed.stream_vault import slot_of
from ameles.engine.sealed.vault.tier import tier
from ameles.plan.clock import instant, microseconds
from ameles.plan.plan import Plan, read_plan


@dataclass(frozen=True, slots=True)
class GapState:
    """Records that a source lost before they were read, and what its owner said."""

    at: str
    place: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a stream stands; all of it is public."""

    stream: str
    running: bool  # whether a process holds its lock
    released: int
    horizon: int | None
    last_release: str | None  # when the last released step ended
    next_release: str | None  # when the next one is due
    lag: int  # number of steps that are due and not released
    population: str
    spent: str
    left: str
    sinks: tuple[SinkState, ...] = ()  # the last step that each has
    vault: str | None = None  # how well the key of a pan-private state is erased
    announced: int | None = None  # announced intrusions, if the plan allows any
    restarts: int | None = None  # restarts so far, if the plan allows any
    restarts_reserved: int | None = None  # restarts that were paid for at launch
    discovered: dict[str, int] = field(default_factory=dict)  # keys published so far, by release
    gaps: tuple[GapState, ...] = ()  # records that the stream goes on without
    retired: str | None = None  # when its state was erased, so that it never goes on


def status(file: PlanFile = DEFAULT, as_json: AsJson = False) -> None:
    """Say where a stream stands: last and next release, lag, and budget.

    It reads no data, and does not say how much there is.
    """
    state = look(read_plan(file), now=datetime.now(UTC))
    if as_json:
        typer.echo(json.dumps(asdict(state)))
        return
    for name, text in _told(state).items():
        say(f"{name:<12}{text}")
    for place, gap in enumerate(state.gaps):
        text = f"{_day(gap.at)}: {gap.place} lost records unread ({gap.why})"
        say(f"{'' if place else 'gaps':<12}{text}")
    for place, sink in enumerate(state.sinks):
        say(f"{'' if place else 'sinks':<12}{_of_sink(sink)}")


def _of_sink(sink: SinkState) -> str:
    """The last step that a sink has, and what is visibly wrong with it."""
    if sink.step is None:
        return f"{sink.sink}: failing. {sink.problem}"
    at = f"{sink.sink}: step {sink.step}" if sink.step else f"{sink.sink}: nothing yet"
    since = f" since {_day(sink.behind_since)}" if sink.behind_since else ""
    late = f", {sink.behind} behind{since}" if sink.behind else ""
    return f"{at}{late}" + (f", failing. {sink.problem}" if sink.problem else "")


def _told(state: Status) -> dict[str, str]:
    of = "" if state.horizon is None else f" of {state.horizon}"
    last = f"step {state.released}{of}, which ended {_day(state.last_release)}"
    told = {
        "stream": f"{state.stream}, {'running' if state.running else 'not running'}",
        "released": last if state.released else f"no step{of} yet",
        "next": _next(state),
        "lag": "1 step" if state.lag == 1 else f"{state.lag} steps",
        "budget": f"population '{state.population}': {state.left} left, {state.spent} spent",
    }
    if state.discovered:
        keys = (f"{count:,} of '{release}'" for release, count in state.discovered.items())
        told["keys"] = f"discovered so far: {', '.join(keys)}"
    if state.vault is not None:
        told["vault"] = state.vault
    if state.announced is not None:
        told["intrusions"] = f"{state.announced or 'none'} announced"
    if state.restarts is not None:
        told["restarts"] = f"{state.restarts or 'none'} of {state.restarts_reserved} used"
    return told


def _next(state: Status) -> str:
    if state.retired is not None:
        return f"none: it was retired on {_day(state.retired)}"
    if state.next_release is None:
        return "none: the last step is released"
    return f"{'due since ' if state.lag else ''}{_day(state.next_release)}"


def _day(written: str | None) -> str:
    return "" if written is None else f"{moment(datetime.fromisoformat(written))} UTC"


def look(checked: Plan, *, now: datetime) -> Status:
    """The status of a plan's stream at this moment."""
    clock, horizon, intrusions = checked.clock, checked.stream.horizon, checked.privacy.intrusions
    with stored(checked) as store:
        with store.reading() as transaction:
            stream = launched(transaction, checked)
            ledger = transaction.ledger(stream.population)
            seen = len(transaction.intrusions(stream))
            again = len(transaction.epochs(stream))
            retired = transaction.retirement(stream)
            gaps = transaction.gaps(stream)
            published = Counter(line.release for line in transaction.series(stream))
        running = store.held(checked.stream.name)
        sinks = sink_states(checked, store, stream)
    if ledger is None:
        raise StoreRefused(f"The store has no population '{stream.population}'.")
    grace = checked.stream.grace_us
    due = clock.ended(microseconds(now) - grace)
    due = due if horizon is None else min(due, horizon)
    last, over = stream.released, stream.released == horizon or retired is not None
    return Status(
        stream=stream.name,
        running=running,
        released=last,
        horizon=horizon,
        last_release=_written(clock.end_of(last)) if last else None,
        next_release=None if over else _written(clock.end_of(last + 1) + grace),
        lag=0 if over else max(0, due - last),
        population=stream.population,
        spent=str(ledger.spent),
        left=str(ledger.left),
        sinks=sinks,
        vault=None if intrusions == "none" else _vault(checked, stream.identity),
        announced=seen if intrusions == "announced" else None,
        restarts=again if checked.privacy.restarts else None,
        restarts_reserved=checked.privacy.restarts or None,
        discovered={
            one.name: published[one.name] // one.cells
            for one in checked.releases
            if one.discovered is not None and not one.keys
        },
        gaps=tuple(GapState(_written(microseconds(gap.at)), gap.place, gap.why) for gap in gaps),
        retired=None if retired is None else f"{retired.at:%Y-%m-%dT%H:%M:%SZ}",
    )


def _vault(checked: Plan, identity: UUID) -> str:
    """What the folder of the key promises about erasing; the key itself is not opened."""
    try:
        path = slot_of(checked, identity).path(identity)
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, StoreRefused):
        return "the folder of its key does not exist: the disk is not mounted, or the key is lost"
    try:
        if not path.is_file():
            return "its key does not exist: the stream cannot go on"
        return tier(handle)
    finally:
        os.close(handle)


def _written(us: int) -> str:
    return f"{instant(us):%Y-%m-%dT%H:%M:%SZ}"
