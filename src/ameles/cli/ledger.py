"""``ameles ledger``: what was spent, on what, and what is left."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import metadata
from typing import Annotated

import typer

from ameles.cli.budget_tree import plain_budgets, show_budgets
from ameles.cli.plans import DEFAULT, AsJson, PlanFile, moment, say, stored, table
from ameles.cli.renewal import confirm_renewal, renewal_of
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Guarantee
from ameles.core.loss import loss_to_dict
from ameles.engine.running.registry_record import promises, registered
from ameles.ledger.ledger import Ledger
from ameles.ledger.report import rate_of, report
from ameles.plan.plan import Plan, read_plan
from ameles.store import Transaction, public_address


def ledger(
    file: PlanFile = DEFAULT,
    export: Annotated[
        bool, typer.Option("--export", help="Print the record for public registries, as JSON.")
    ] = False,
    renew: Annotated[
        str | None,
        typer.Option(
            help="Add this much epsilon to the population's cap, forever.", metavar="NUMBER"
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="Add this much delta to it, alone or with --renew.", metavar="NUMBER"),
    ] = None,
    why: Annotated[
        str | None, typer.Option(help="Why it is renewed; kept forever.", metavar="TEXT")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Renew without asking; needed where nobody can be asked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the population's budget was spent on, and what is left.

    A renewal is a separate entry: the lifetime sum continues, and is always shown.
    """
    checked = read_plan(file)
    more_of = renew is not None or delta is not None
    if more_of != (why is not None) or (why is not None and not why.strip()):
        raise BadInput(
            "A renewal needs --why, and --renew or --delta.", tip='--renew 1 --why "year two"'
        )
    with stored(checked, reading=why is None) as store:
        if why is not None:
            with store.reading() as transaction:
                book = _book(transaction, checked)
            more = renewal_of(renew, delta, book.cap, "--renew")
            # outside the transaction, which would block all writers while a person thinks
            confirm_renewal(more, book, yes=yes, command="ameles ledger --renew NUMBER --why TEXT")
            with store.writing() as transaction:
                book = _book(transaction, checked)
                book.renew(more, why=why.strip())
            say(f"Added {more} to the cap of population '{book.name}'.", err=True)
        with store.reading() as transaction:
            book = _book(transaction, checked)
            held = promises(transaction, book)
            if export:
                version = metadata.version("ameles")
                record = registered(transaction, book.name, implementation=version)
                typer.echo(json.dumps(record, indent=2))
                return
    if as_json:
        typer.echo(json.dumps(_plain(book, held), indent=2))
    else:
        _show(book)


def _book(transaction: Transaction, checked: Plan) -> Ledger:
    book = transaction.ledger(checked.privacy.population)
    if book is None:
        raise StoreRefused(
            f"The store '{public_address(checked.store.url)}' has no population "
            f"'{checked.privacy.population}'.",
            why="no stream about it was launched",
            tip="ameles run, which opens it",
        )
    return book


def _plain(book: Ledger, held: dict[int, Guarantee]) -> dict[str, object]:
    return {
        "population": book.name,
        "unit": book.unit.tag,
        "neighbours": book.neighbours.value,
        "cap": loss_to_dict(book.cap),
        "spent": loss_to_dict(book.spent),
        "left": loss_to_dict(book.left),
        "budgets": plain_budgets(book),
        "entries": [
            {
                "number": entry.number,
                "at": entry.at.isoformat(),
                "on": entry.on,
                "why": entry.why,
                "by": entry.by,
                "paid": loss_to_dict(entry.paid),
                "recipe": json.loads(entry.recipe),
                "guarantee": held[entry.number].to_dict(),
            }
            for entry in book.entries
        ],
        "renewals": [
            {"at": one.at.isoformat(), "why": one.why, "added": loss_to_dict(one.added)}
            for one in book.renewals
        ],
    }


def _show(book: Ledger) -> None:
    standing = report(book, now=datetime.now(UTC))
    say(
        f"Population '{book.name}', for {book.unit}: {standing.spent} spent in its life, "
        f"{standing.left} left of {standing.cap}."
    )
    say("")
    rows = [
        (
            str(entry.number),
            moment(entry.at.replace(microsecond=0, second=0)),
            entry.on,
            str(json.loads(entry.recipe)["recipe"]),
            str(entry.paid),
        )
        for entry in book.entries
    ]
    table(("entry", "when (UTC)", "for", "mechanism", "paid"), rows, left=4)
    if book.children:
        say("")
        show_budgets(book)
    for renewal in book.renewals:
        say(f"renewed on {renewal.at:%Y-%m-%d} by {renewal.added}: {renewal.why}")
    say(rate_of(standing), err=True)
