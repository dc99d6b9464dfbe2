"""Differencing: two counts that are harmless alone, and whose difference is one person.

>>> report = differencing(games=100)
>>> [target.reached for target in report.targets[:2]]
[1.0, 1.0]
"""

from __future__ import annotations

import numpy as np

from ameles.audit.attacks.report import (
    GAMES,
    AttackReport,
    Target,
    best_guess,
    coins,
    games_of,
    loss_of,
    private_counts,
    right,
)
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.noise import System
from ameles.noise.arrays import IntArray

SMALLEST = 5  # counts below it are not shown
ROUNDED = 5  # counts are rounded to multiples of it


def differencing(
    *, games: int = GAMES, epsilon: Exact = 1, noise: Noise | None = None
) -> AttackReport:
    """Asks for a count with Pia and for the same count without her."""
    secrets = coins(games_of(games))
    others = System().uniform(1000, len(secrets)) + SMALLEST
    everybody = others + secrets
    half = loss_of(epsilon) / 2
    with_her = private_counts(everybody, half, noise)
    without = private_counts(others, half, noise)
    difference = with_her - without
    return AttackReport(
        name="differencing",
        story="How many people have the illness? And how many of those who were not born on the "
        "day on which only Pia was born? The attacker subtracts. Against rounding they also ask "
        "for unions with a few people who are known to be ill, and see where the count jumps.",
        measure="games in which Pia's illness is guessed",
        blind=0.5,
        targets=(
            Target("exact counts", right(everybody - others >= 1, secrets)),
            Target(
                f"exact counts, none below {SMALLEST}",
                right(_shown(everybody) - _shown(others) >= 1, secrets),
            ),
            Target(
                f"counts rounded to {ROUNDED}",
                right(_by_steps(everybody) - _by_steps(others) >= 1, secrets),
            ),
            Target(
                "Ameles: two private counts",
                right(difference >= 1, secrets),
                allowed=best_guess(epsilon),
            ),
        ),
        meaning="A rule about single answers, such as a smallest count or rounding, says nothing "
        "about two of them. A privacy budget is about all answers together.",
    )


def _shown(counts: IntArray) -> IntArray:
    """Counts as a table shows them that leaves small ones out."""
    return np.where(counts >= SMALLEST, counts, 0)


def _by_steps(counts: IntArray) -> IntArray:
    """The exact counts behind rounded ones.

    The attacker adds 0, 1, 2, ... people who are known to be ill to the query, and sees at which of
    them the rounded count jumps: the sum of floor((c + j) / m) over all j < m is c.
    """
    half = ROUNDED // 2
    jumps = [(counts + half + more) // ROUNDED for more in range(ROUNDED)]  # rounded, in steps
    return np.asarray(np.sum(jumps, axis=0) - half)
