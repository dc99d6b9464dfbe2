"""``ameles status``: how a stream is doing, without a word about its data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, launched, moment, stored
from ameles.core.exceptions import StoreRefused
from ameles.engine.clock import instant, microseconds
from ameles.engine.plan import Plan, read_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a stream stands; all of it is public."""

    stream: str
    running: bool  # whether a process holds it
    released: int
    horizon: int | None
    last_release: str | None  # when the last released step ended
    next_release: str | None  # when the next one is due
    lag: int  # steps that have ended and are not released
    population: str
    spent: str
    left: str


def status(file: PlanFile = DEFAULT, as_json: AsJson = False) -> None:
    """Say where a stream stands: last and next release, lag, and budget.

    It reads no data, and says nothing about how much of it there is.
    """
    found = look(read_plan(file), now=datetime.now(UTC))
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    of = "" if found.horizon is None else f" of {found.horizon}"
    typer.echo(f"stream      {found.stream}, {'running' if found.running else 'not running'}")
    typer.echo(
        f"released    step {found.released}{of}, which ended {found.last_release or 'never'}"
    )
    typer.echo(f"next        {found.next_release or 'none: the last step is released'}")
    steps = "1 step" if found.lag == 1 else f"{found.lag} steps"
    typer.echo(f"lag         {steps}")
    typer.echo(
        f"budget      population '{found.population}': {found.left} left, {found.spent} spent"
    )


def look(checked: Plan, *, now: datetime) -> Status:
    """The status of a plan's stream at this moment."""
    clock, horizon = checked.clock, checked.stream.horizon
    with stored(checked) as store:
        try:
            with store.holding(checked.stream.name):
                running = False
        except StoreRefused:
            running = True
        with store.reading() as transaction:
            stream = launched(transaction, checked)
            ledger = transaction.ledger(stream.population)
    if ledger is None:
        raise StoreRefused(f"The store has no population '{stream.population}'.")
    grace = checked.stream.grace_us
    due = clock.ended(microseconds(now) - grace)
    due = due if horizon is None else min(due, horizon)
    last, over = stream.released, stream.released == horizon
    return Status(
        stream=stream.name,
        running=running,
        released=last,
        horizon=horizon,
        last_release=f"{moment(instant(clock.end_of(last)))} UTC" if last else None,
        next_release=None if over else f"{moment(instant(clock.end_of(last + 1) + grace))} UTC",
        lag=max(0, due - last),
        population=stream.population,
        spent=str(ledger.spent),
        left=str(ledger.left),
    )
