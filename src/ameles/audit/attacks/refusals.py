"""Refusals: a server that refuses what would disclose a secret discloses it by refusing.

>>> report = refusals(games=100)
>>> report.targets[0].reached
1.0
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
    private_counts,
    right,
)
from ameles.core.exceptions import BudgetExceeded
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.ledger import Ledger
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise.arrays import BoolArray


def refusals(*, games: int = GAMES, epsilon: Exact = 1, noise: Noise | None = None) -> AttackReport:
    """Asks for the sum of two bits, of which the attacker knows one, and watches for a refusal."""
    pia, own = coins(games_of(games)), coins(games_of(games))
    total = pia.astype(np.int64) + own
    # The auditor refuses sums of 0 and 2, from which both bits would follow.
    refused = total != 1
    noisy = private_counts(total, epsilon, noise) - own
    spent = _after_the_budget(pia, own, epsilon)
    return AttackReport(
        name="refusals",
        story="A server answers sums of yes and no exactly, and refuses a sum from which "
        "somebody's answer would follow. The attacker asks for the sum over Pia and themselves: an "
        "answer means that the two differ, a refusal that they do not.",
        measure="games in which Pia's answer is guessed",
        blind=0.5,
        targets=(
            Target("a server that refuses what would disclose", right(own == refused, pia)),
            Target("Ameles: a private sum", right(noisy >= 1, pia), allowed=best_guess(epsilon)),
            Target("Ameles: a refusal, the budget is spent", right(spent, pia), allowed=0.5),
        ),
        meaning="Whether a question is refused must depend on public facts alone. Ameles looks at "
        "the budget, which is public, and never at the answer.",
    )


def _after_the_budget(pia: BoolArray, own: BoolArray, epsilon: Exact) -> BoolArray:
    """Guesses of who is only ever refused: the real ledger refuses before it sees a number.

    For each of the four possible pairs of bits the refusal is the same, so it tells nothing.
    """
    texts = set()
    for bits in {(int(a), int(b)) for a, b in zip(pia, own, strict=True)}:
        ledger = Ledger("people", cap=Pure(epsilon), unit=EVENT, neighbours=Neighbours.REPLACE)
        recipe = GeometricMechanism(epsilon=epsilon, neighbours=Neighbours.REPLACE)
        ledger.start(recipe, on="pairs", why="the sum").step(sum(bits))
        try:
            ledger.start(recipe, on="pairs", why="the sum again")
        except BudgetExceeded as refusal:
            texts.add(str(refusal))
    tells = len(texts) > 1  # never: a test holds it
    return pia if tells else coins(len(pia))
