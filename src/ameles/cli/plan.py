"""``ameles plan``: what a plan promises, and how exact it will be, before anything is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any

import typer

from ameles.cli.launch_refusals import check_note, refuse_changed, refuse_launch, source_note
from ameles.cli.plans import DEFAULT, AsJson, PlanFile, say, store_path, table
from ameles.core.exceptions import AmelesError, BudgetExceeded
from ameles.core.loss import Pure, loss_to_dict, shown
from ameles.core.words import brief
from ameles.engine.running.launch import check_price, payer_of
from ameles.engine.running.plan_checks import checked_at
from ameles.ledger.amounts import added
from ameles.measures.key_words import needed_words
from ameles.measures.measure import Measure
from ameles.plan.forecast import Forecast, forecasts, in_words
from ameles.plan.plan import Plan, read_plan
from ameles.store import exists, open_store, public_address


def plan(file: PlanFile = DEFAULT, as_json: AsJson = False) -> None:
    """Say what a plan promises and how exact it will be.

    This is a dry run: it draws no noise and spends nothing.  It looks at the names of the source's
    files and columns, and reads no data.
    """
    checked = read_plan(file)
    refuse_launch(checked)
    refuse_changed(checked)
    expected = forecasts(checked)
    if as_json:
        typer.echo(json.dumps(_report(checked, expected), indent=2))
        return
    for sentence in in_words(checked):
        say(sentence)
    say("")
    show(expected)
    say("")
    for forecast in expected:
        say(f"{forecast.release}: {forecast.mechanism}, because {forecast.why}.")
    for forecast in expected:
        if forecast.users_needed is not None and forecast.looked_for is not None:
            needed = needed_words(
                dict(zip(forecast.looked_for, forecast.users_needed, strict=True))
            )
            say(f"{forecast.release}: a key needs {needed}.")
            say(
                f"For {forecast.release}, the look at that step finds a key of that many users "
                "with probability one half, if they came before the first look and it is the first "
                "key that each of them brings.",
                err=True,
            )
    say("± is the half-width that covers 95% of the privacy noise, for one key.", err=True)
    for forecast in expected:
        if forecast.of != Measure.forecast:
            say(f"For {forecast.release}, ± is that of {forecast.of}.", err=True)
    for line in (source_note(checked), budget(checked), check_line(checked, file)):
        if line:
            say(line, err=True)


def show(expected: list[Forecast]) -> None:
    """Prints what each release spends and how exact it will be."""
    pure = all(isinstance(forecast.loss, Pure) for forecast in expected)
    steps = expected[0].steps
    heads = ("release", "measure", "keys", "epsilon" if pure else "spends")
    rows = [
        (
            forecast.release,
            f"{forecast.measure}, {forecast.over}",
            f"{forecast.keys:,}" if forecast.keys or not forecast.discovered else "found",
            shown(forecast.loss.epsilon) if isinstance(forecast.loss, Pure) else str(forecast.loss),
            *map(brief, forecast.half_widths),
        )
        for forecast in expected
    ]
    table((*heads, *(f"± step {step}" for step in steps)), rows, left=2)


def _report(checked: Plan, expected: list[Forecast]) -> dict[str, object]:
    return {
        "stream": checked.stream.name,
        "population": checked.privacy.population,
        "loss": loss_to_dict(checked.loss),
        "words": in_words(checked),
        "releases": [
            {
                **asdict(forecast),
                "loss": loss_to_dict(forecast.loss),
                "recipe": json.loads(forecast.recipe),
            }
            for forecast in expected
        ],
    }


def budget(checked: Plan) -> str:
    """What the population has left, if its store is there already."""
    name, path = checked.privacy.population, store_path(checked)
    try:
        return _stored_budget(checked, path) if exists(path) else _new(checked, name)
    except AmelesError as refusal:  # a dry run says so; the real run refuses
        return f"The store '{public_address(checked.store.url)}' cannot be used: {refusal.what}"


def check_line(checked: Plan, file: Path) -> str:
    """Whether the plan was checked against its source; empty after the launch."""
    path = store_path(checked)
    try:
        if not exists(path):
            return check_note(None, file)
        with closing(open_store(path, create=False)) as store, store.reading() as transaction:
            running = transaction.stream(checked.stream.name) is not None
            return "" if running else check_note(checked_at(transaction, checked), file)
    except AmelesError:  # ``budget`` has already said that the store cannot be used
        return ""


def _stored_budget(checked: Plan, path: str) -> str:
    name, stream = checked.privacy.population, checked.stream.name
    recipes: Mapping[str, Any] = checked.purchases
    with closing(open_store(path, create=False)) as store, store.reading() as transaction:
        ledger = transaction.ledger(name)
        running = transaction.stream(stream) is not None
        asked = None if ledger is None else reduce(added, ledger.prices(recipes).values())
    if ledger is None or asked is None:
        return _new(checked, name)
    payer = payer_of(checked, ledger)
    left = f"Population '{name}' has {ledger.left} left of {ledger.cap}"
    if payer is not ledger:
        own = "no cap of its own" if payer.cap is None else f"{payer.left} left of {payer.cap}"
        left = f"{left}, its budget '{payer.name}' has {own}"
    if running:
        return f"{left}; stream '{stream}' was launched and is paid for."
    try:
        payer.quote(asked, on=None)
    except BudgetExceeded:
        return f"{left}; launching this stream needs {asked} and would be refused."
    return f"{left}; launching this stream would spend {asked} of it."


def _new(checked: Plan, name: str) -> str:
    cap = checked.privacy.cap
    whole = f"a cap of epsilon {shown(cap)}" if cap else f"this plan's {checked.loss} as its cap"
    opened = f"Population '{name}' is new: the first run opens it with {whole}"
    try:
        check_price(checked)
    except BudgetExceeded:
        return f"{opened}; launching this stream needs {checked.loss} and would be refused."
    return f"{opened}."
