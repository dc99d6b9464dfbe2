"""What is impossible, refused with its theorem.

Some requests cannot be met by any mechanism, or not by the one that was asked for.  A function
here raises the error that says so, with the number that the theorem gives.

>>> try:
...     refuse_continual_modular(users=1000, steps=1440, epsilon=1)
... except BadInput as error:
...     print(error.what)
Counts modulo a number cannot be published at every step at user level.
"""

from __future__ import annotations

from typing import NoReturn

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.parameters import Exact, exact
from ameles.mechanisms.counters.lower_bounds import intrusion_bound, varying_bound

PAPER = "Dwork-Naor-Pitassi-Rothblum 2010"


def refuse_continual_modular(*, users: int, steps: int, epsilon: Exact) -> NoReturn:
    """Refuses the fraction of users with a certain residue, published at every step.

    At each step all users may occur, as often as it takes to enter the residue or to leave it: a
    jump of 1, or none.
    """
    bound = varying_bound(
        changes=steps, jump=1, users=users, epsilon=exact(epsilon, "epsilon"), beta=0.5
    )
    raise BadInput(
        "Counts modulo a number cannot be published at every step at user level.",
        why=f"a residue comes back without end, so with {users} users and {steps} steps any such "
        f"algorithm is wrong by {bound:.3g} of all users at some step with probability 1/2 "
        f"({PAPER}, Thm 5.3, corrected)",
        tip="one release at the end, or few with 'releases', each paid for; events as the unit; or "
        "counts at a threshold, which only grow",
    )


def refuse_second_intrusion(*, epsilon: Exact, steps: int) -> NoReturn:
    """Refuses that the state of a counter with one noisy total is seized twice, unannounced."""
    bound = intrusion_bound(intrusions=steps, epsilon=exact(epsilon, "epsilon"), beta=0.25)
    raise BadInput(
        "The state of this counter cannot be seized twice without an announcement.",
        why="its total differs between two steps by exactly what came in: the loss is infinite "
        "(Dwork-Roth, Fig 12.2); and a counter that may be seized after each of "
        f"{steps} steps is wrong by more than {bound:g} with probability 1/4 (Thm 4.3)",
        tip="SimpleTwoCounter, whose state may be seized after every step, or intrusions = "
        "'announced'",
    )


def check_intrusions(allowed: Intrusions, asked: Intrusions, *, epsilon: Exact, steps: int) -> None:
    """Refuses more intrusions than a mechanism allows; fewer are always covered."""
    order = list(Intrusions)
    if allowed is Intrusions.ONE and order.index(asked) > order.index(allowed):
        refuse_second_intrusion(epsilon=epsilon, steps=steps)
    if order.index(asked) > order.index(allowed):
        raise BadInput(
            f"The state of this mechanism may be seized: {allowed.value}. "
            f"Got {asked.value} instead.",
            tip="a mechanism whose guarantee covers these intrusions",
        )
