"""A renewal of the cap of a population or a budget.  It is permanent, so a person confirms it.

On a terminal it asks.  Elsewhere nobody could answer, and a service should not raise a cap by
itself, so it needs ``--yes`` there.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from ameles.cli.plans import say
from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.parameters import shown
from ameles.ledger import Budget

MOST = 1000  # as for the cap of a plan
MOST_DELTA = Fraction(1, 100)  # as for the delta of a plan


class NotRenewed(AmelesError):
    """The person at the terminal said no; the cap is unchanged."""

    code = "renewal"


def renewal_of(epsilon: str | None, delta: str | None, cap: Loss, option: str) -> Loss:
    """The amount to add, in the currency of the cap; ``option`` is how its epsilon was given."""
    if delta is not None and not isinstance(cap, Approx):
        raise BadInput(
            f"--delta cannot be added to a cap of {cap}.",
            why="its currency was fixed when the population was opened",
            tip=f"{option} without --delta, or a population of its own for plans with a delta",
        )
    match cap:
        case Pure():
            more: Loss = Pure(epsilon or 0)
        case Approx():
            more = Approx(epsilon or 0, delta or 0)
        case Concentrated():
            more = Concentrated(epsilon or 0)
    if epsilon is not None:
        amount = more.rho if isinstance(more, Concentrated) else more.epsilon
        _check_amount(epsilon, amount, Fraction(MOST), option, "1")
    if delta is not None and isinstance(more, Approx):
        _check_amount(delta, more.delta, MOST_DELTA, "--delta", "1e-9")
    return more


def _check_amount(text: str, amount: Fraction, most: Fraction, option: str, example: str) -> None:
    if not 0 < amount <= most:
        raise BadInput(
            f"{option} must be above 0 and at most {shown(most)}. Got {text[:40]!r} instead.",
            why="a loss of that size promises nothing" if amount > most else "it would add nothing",
            tip=f"{option} {example}",
        )


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
    say(
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
