"""What an attack reports: how far the attacker came against each way to publish.

Most attacks are a game.  A coin decides a secret about one person, the attacker sees what is
published and guesses the coin.  Who does not look is right half of the time.  Against a mechanism
with epsilon nobody can be right more often than e^epsilon / (1 + e^epsilon), whatever they know
and compute: ``best_guess`` is that number.

>>> round(best_guess(1), 4), round(best_guess("0.1"), 4)
(0.7311, 0.525)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import System
from ameles.noise.arrays import BoolArray, IntArray

GAMES = 20_000
SPAN = " from 0.001 to 100"
MOST_GAMES = 10**6


@dataclass(frozen=True, slots=True)
class Target:
    """One way to publish, and how far the attacker came against it.

    ``effort`` is how much the attacker asked for, where the attack has a measure of that.
    ``allowed`` is the most that the guarantee allows any attacker; None: there is no guarantee.

    >>> Target("exact counts", reached=1.0).allowed is None
    True
    """

    name: str
    reached: float
    effort: int | None = None
    allowed: float | None = None


@dataclass(frozen=True, slots=True)
class AttackReport:
    """An attack, what it reached, and what that means.

    ``measure`` says what ``reached`` is; ``blind`` is what an attacker reaches who does not look.
    ``share`` tells whether it is a share, which is printed in percent.

    >>> from ameles.audit.attacks import differencing
    >>> report: AttackReport = differencing(games=100)
    >>> report.blind, report.targets[0].reached
    (0.5, 1.0)
    """

    name: str
    story: str
    measure: str
    blind: float
    targets: tuple[Target, ...]
    meaning: str
    effort: str = ""
    share: bool = True

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def loss_of(epsilon: Exact) -> Fraction:
    """An epsilon at which there is something to see."""
    loss = exact(epsilon, "epsilon", span=SPAN)
    if not Fraction(1, 1000) <= loss <= 100:
        raise refuse("epsilon", f"a number{SPAN}", epsilon)
    return loss


def best_guess(epsilon: Exact, prior: float = 0.5) -> float:
    """How often any attacker can be right about a secret that is yes with this probability.

    >>> round(best_guess(1, prior=0.9), 4)
    0.9607
    """
    odds = prior / (1 - prior) * math.exp(float(loss_of(epsilon)))
    return odds / (1 + odds)


def coins(count: int) -> BoolArray:
    """Secrets: one fair coin each, from the operating system."""
    return System().bernoulli(Fraction(1, 2), count)


def right(guesses: BoolArray, secrets: BoolArray) -> float:
    """The share of guesses that are right."""
    return float(np.mean(guesses == secrets))


def games_of(count: int) -> int:
    """A number of games that fits into memory."""
    return whole(count, "games", low=1, high=MOST_GAMES)


def private_counts(counts: Any, epsilon: Exact, noise: Noise | None) -> IntArray:
    """Counts as Ameles publishes them, where one person changes one of them by one."""
    recipe = GeometricMechanism(epsilon=epsilon, neighbours="replace", width=len(counts))
    released = recipe.start(noise or System()).step(np.asarray(counts, dtype=np.int64))
    return np.asarray(released)
