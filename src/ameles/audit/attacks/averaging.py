"""Averaging: fresh noise on every repetition of a question averages away.

The attacker looks how many answers are above the middle.  That is the most likely guess under
Laplace noise, whose odds between two neighbouring counts are e^epsilon on either side.

>>> report = averaging(games=50, epsilon=1)
>>> sorted({target.effort for target in report.targets})
[1, 4, 16, 64, 256]
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ameles.audit.attacks.report import (
    GAMES,
    AttackReport,
    Target,
    best_guess,
    coins,
    games_of,
    loss_of,
    right,
)
from ameles.core.exceptions import BudgetExceeded
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.ledger import Ledger
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import System
from ameles.noise.arrays import BoolArray, IntArray

REPETITIONS = (1, 4, 16, 64, 256)
ANSWERS = 4  # that the budget pays for


def averaging(
    *, games: int = GAMES, epsilon: Exact = 1, noise: Noise | None = None
) -> AttackReport:
    """Asks one question again and again, and goes with the majority of the answers."""
    whole_budget = loss_of(epsilon)
    each = whole_budget / ANSWERS
    secrets = coins(games_of(games))
    fresh = _yes_after(secrets, each, noise or System())
    paid = _paid(secrets, whole_budget, each, noise)
    targets = [
        Target("fresh noise each time", _guessed(fresh[n], n, secrets), effort=n)
        for n in REPETITIONS
    ]
    for n in REPETITIONS:
        answers = min(n, ANSWERS)
        reached = _guessed(paid[answers], answers, secrets)
        allowed = best_guess(each * answers)
        name = "Ameles: every answer is paid for"
        targets.append(Target(name, reached, effort=n, allowed=allowed))
    for n in REPETITIONS:
        name = "Ameles: the stored answer is given again"
        reached, allowed = _guessed(paid[1], 1, secrets), best_guess(each)
        targets.append(Target(name, reached, effort=n, allowed=allowed))
    return AttackReport(
        name="averaging",
        story="A count is published with noise, and whoever asks again gets new noise. The "
        f"attacker asks the same question up to {REPETITIONS[-1]} times and goes with the "
        "majority.",
        measure="games in which the secret is guessed",
        blind=0.5,
        targets=tuple(targets),
        effort="times that the question is asked",
        meaning="Noise protects only if somebody counts the answers. Ameles debits each from a "
        f"budget, here for {ANSWERS} answers. A stream that runs again gets its stored answer, and "
        "so does a question that is asked again about the same --version of a table.",
    )


def _yes_after(secrets: BoolArray, epsilon: Fraction, noise: Noise) -> dict[int, IntArray]:
    """After each number of repetitions, how many answers said yes in every game."""
    yes, after = np.zeros(len(secrets), dtype=np.int64), {}
    for n in range(1, REPETITIONS[-1] + 1):
        yes = yes + (secrets + noise.laplace(1 / epsilon, len(secrets)) >= 1)
        after[n] = yes
    return after


def _paid(
    secrets: BoolArray, budget: Fraction, epsilon: Fraction, noise: Noise | None
) -> dict[int, IntArray]:
    """The same through the ledger, until it refuses."""
    ledger = Ledger(
        "people", cap=Pure(budget), unit=EVENT, neighbours=Neighbours.REPLACE, noise=noise
    )
    recipe = GeometricMechanism(epsilon=epsilon, neighbours=Neighbours.REPLACE, width=len(secrets))
    yes, after = np.zeros(len(secrets), dtype=np.int64), {}
    for n in range(1, REPETITIONS[-1] + 1):
        try:
            run = ledger.start(recipe, on="secrets", why="the count, once more")
        except BudgetExceeded:
            break
        yes = yes + (np.asarray(run.step(secrets.astype(np.int64))) >= 1)
        after[n] = yes
    return after


def _guessed(yes: IntArray, answers: int, secrets: BoolArray) -> float:
    """The share of games that the majority decides rightly; a tie is decided by a coin."""
    tie = 2 * yes == answers
    guesses = np.where(tie, coins(len(secrets)), 2 * yes > answers)
    return right(guesses, secrets)
