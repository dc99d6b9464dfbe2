"""A renewal of the cap of a population or a budget.  It is permanent, so a person confirms it.

On a terminal it asks.  Elsewhere nobody could answer, and a service should not raise a cap by
itself, so it needs ``--yes`` there.
"""

from __future__ import annotations

import sys

import typer

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.ledger import Budget

MOST = 1000  # as for the cap of a plan


class NotRenewed(AmelesError):
    """The person at the terminal said no; the cap is unchanged."""

    code = "renewal"


def renewal_of(text: str, cap: Loss, option: str) -> Loss:
    """The amount to add, in the currency of the cap; ``option`` is how it was given."""
    match cap:
        case Pure():
            more: Loss = Pure(text)
        case Approx():
            more = Approx(text, 0)
        case Concentrated():
            more = Concentrated(text)
    amount = more.rho if isinstance(more, Concentrated) else more.epsilon
    if not 0 < amount <= MOST:
        raise BadInput(
            f"{option} must be above 0 and at most {MOST}. Got {text[:40]!r} instead.",
            why="a loss of that size promises nothing" if amount > MOST else "it would add nothing",
            tip=f"{option} 1",
        )
    return more


def confirm_renewal(more: Loss, book: Budget, *, yes: bool, command: str) -> None:
    """Asks on a terminal whether to raise the cap; elsewhere it needs ``yes``."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            "A renewal needs --yes if there is no terminal to ask at.",
            why="it is permanent: the people in the data can lose that much more privacy",
            tip=f"{command} --yes",
        )
    whose = capped(book)
    typer.echo(
        f"This adds {more} to the cap of {whose}, which is {book.cap}, forever: "
        "the people in the data can lose that much more privacy. Renew it? [y/N] ",
        nl=False,
        err=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotRenewed(
            f"The cap of {whose} was not renewed.",
            tip="--yes renews without asking",
        )


def capped(book: Budget) -> str:
    """Whose cap it is, in words."""
    return f"{'population' if book.ledger is book else 'budget'} '{book.name}'"
