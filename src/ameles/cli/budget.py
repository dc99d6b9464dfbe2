"""``ameles budget``: named budgets below a population's cap, such as one for each study."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.budget_tree import plain_budgets, show_budgets
from ameles.cli.plans import DEFAULT, AsJson, say, store_path
from ameles.cli.renewal import capped, confirm_renewal, renewal_of
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.loss import Approx, Loss, Pure
from ameles.engine.running.launch import open_population
from ameles.engine.running.launch_checks import check_launch
from ameles.ledger import Ledger
from ameles.measures.fields import NAME
from ameles.plan.plan import Plan, read_plan
from ameles.store import Store, Transaction, exists, open_store, public_address

MOST = 1000  # as for the cap of a plan


class BudgetAction(Enum):
    """What is to be done about budgets."""

    OPEN = "open"
    RENEW = "renew"
    LIST = "list"


def budget(
    action: Annotated[
        BudgetAction,
        typer.Argument(help="open a new one, renew the cap of one, or list those there are."),
    ],
    name: Annotated[
        str | None, typer.Argument(help="The name of the budget.", metavar="NAME")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Its own cap, or what a renewal adds; a new one without it is limited only by "
            "the budgets above.",
            metavar="NUMBER",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="The delta of its cap, by default the population's; or what a renewal adds.",
            metavar="NUMBER",
        ),
    ] = None,
    under: Annotated[
        str | None, typer.Option(help="The budget that it is a part of.", metavar="NAME")
    ] = None,
    why: Annotated[
        str | None, typer.Option(help="Why it is renewed; kept forever.", metavar="TEXT")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Renew without asking; needed where nobody can be asked.")
    ] = False,
    plan: Annotated[
        Path, typer.Option(help="The plan that names population and store.", metavar="PLAN")
    ] = DEFAULT,
    store: Annotated[
        str | None, typer.Option(help="A store, instead of a plan.", metavar="URL")
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="A population in that store.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open a named budget below a population's cap, renew its cap, or list all.

    What a budget spends is spent by every budget above it, too.  A budget is never removed, and its
    cap can only be raised.  A plan with budget = "NAME" under [privacy] is paid by that budget.
    """
    if (store is None) != (population is None):
        raise BadInput(
            "--store and --population are given together, or neither of them.",
            tip="--store flu.db --population visitors",
        )
    checked = read_plan(plan) if store is None else None
    named = population or (checked.privacy.population if checked else "")
    if action is BudgetAction.RENEW:
        amounts = epsilon, delta
        if name is None or amounts == (None, None) or not (why or "").strip() or under:
            raise BadInput(
                "A renewal needs a name, --epsilon or --delta, and --why, and nothing else.",
                tip='ameles budget renew study-a --epsilon 0.5 --why "a second wave"',
            )
        with _opened(checked, store, create=False) as opened:
            with opened.reading() as transaction:
                book = _book(transaction, named, opened_at=store or _url(checked))
            _renew(opened, book, name, amounts, (why or "").strip(), yes=yes)
    elif why is not None or yes:
        raise BadInput("--why and --yes are for a renewal.", tip="ameles budget renew NAME")
    elif action is BudgetAction.OPEN:
        _open(checked, store, named, _new_name(name), epsilon, delta, under)
    elif any(given is not None for given in (name, epsilon, delta, under)):
        raise BadInput(
            "A list takes no name, --epsilon, --delta or --under.", tip="ameles budget list"
        )
    with _opened(checked, store, create=False) as opened, opened.reading() as transaction:
        book = _book(transaction, named, opened_at=store or _url(checked))
    if as_json:
        typer.echo(json.dumps({"population": book.name, "budgets": plain_budgets(book)}, indent=2))
    else:
        show_budgets(book)


def _open(
    checked: Plan | None,
    store: str | None,
    population: str,
    name: str,
    epsilon: str | None,
    delta: str | None,
    under: str | None,
) -> None:
    _cap(epsilon, delta, Pure(1))  # refused before a store is made
    if checked is not None and not exists(store_path(checked)):
        check_launch(checked)
        if under is not None or name == population:
            raise BadInput(
                f"Population '{population}' has no budgets yet, and its own name is taken.",
                tip="another name, without --under",
            )
    with (
        _opened(checked, store, create=checked is not None) as opened,
        opened.writing() as transaction,
    ):
        first = transaction.population(population) is None
        if checked is not None and first:
            open_population(transaction, checked)
        book = _book(transaction, population, opened_at=store or _url(checked))
        cap = _cap(epsilon, delta, book.cap)
        transaction.open_budget(population, name, cap=cap, parent=under)
    if first:
        say(f"Opened population '{population}' with a cap of {book.cap}.", err=True)
    above = "" if under is None else f", a part of '{under}'"
    say(f"Opened budget '{name}' of population '{population}'{above}.", err=True)


def _renew(
    opened: Store,
    book: Ledger,
    name: str,
    amounts: tuple[str | None, str | None],
    why: str,
    *,
    yes: bool,
) -> None:
    """Adds to the cap of a budget, after a person agreed."""
    raised, more = book.budget(name), renewal_of(*amounts, book.cap, "--epsilon")
    if raised.cap is not None:
        # outside the transaction, which would block all writers while a person thinks
        command = "ameles budget renew NAME --epsilon NUMBER --why TEXT"
        confirm_renewal(more, raised, yes=yes, command=command)
    with opened.writing() as transaction:
        _book(transaction, book.name, opened_at="").renew_budget(name, more, why=why)
    say(f"Added {more} to the cap of {capped(raised)}.", err=True)


def _new_name(name: str | None) -> str:
    """A name that a plan can write, too."""
    if name is None or not re.fullmatch(NAME, name):
        raise BadInput(
            "A new budget needs a name, of up to 64 letters, digits, dots, dashes and underscores, "
            "which begins with a letter or digit.",
            tip="ameles budget open study-a --epsilon 0.5",
        )
    return name


def _cap(epsilon: str | None, delta: str | None, whole: Loss) -> Loss | None:
    """The cap of a new budget; its delta is the population's if none is given."""
    if epsilon is None:
        if delta is not None:
            raise BadInput("--delta needs --epsilon.", tip="--epsilon 0.5 --delta 1e-6")
        return None
    amount = Pure(epsilon)
    if not 0 < amount.epsilon <= MOST:
        raise BadInput(
            f"--epsilon must be above 0 and at most {MOST}. Got {epsilon[:40]!r} instead.",
            why="a loss of that size promises nothing"
            if amount.epsilon > MOST
            else "it could pay for nothing",
            tip="--epsilon 0.5, or without it for a budget that only those above limit",
        )
    if delta is not None:
        return Approx(amount.epsilon, delta)
    return Approx(amount.epsilon, whole.delta) if isinstance(whole, Approx) else amount


@contextmanager
def _opened(checked: Plan | None, store: str | None, *, create: bool) -> Iterator[Store]:
    path = store if checked is None else store_path(checked)
    with closing(open_store(path or "", create=create)) as opened:
        yield opened


def _book(transaction: Transaction, population: str, *, opened_at: str) -> Ledger:
    book = transaction.ledger(population)
    if book is None:
        raise StoreRefused(
            f"The store '{public_address(opened_at)}' has no population '{population}'.",
            why="nothing about it was launched or asked",
            tip="ameles budget open NAME --plan PLAN, which opens the population of the plan",
        )
    return book


def _url(checked: Plan | None) -> str:
    return "" if checked is None else checked.store.url
