"""Floating point: textbook Laplace noise has holes, and the holes tell the true value.

Theorem      Mironov 2012: the textbook sampler reaches only some of the numbers that a float can
             hold, and those that it reaches from one count are not those that it reaches from the
             next.  A published number that can come from one of two counts only gives it away

>>> report = floating_point(games=200)
>>> report.targets[0].reached > report.targets[1].reached
True
"""

from __future__ import annotations

import numpy as np

from ameles.audit.algebra import Floats
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
from ameles.noise.arrays import BoolArray, IntArray

BITS = 53  # of a uniform float
NEAR = 16  # words on each side that could give the published number


def floating_point(
    *, games: int = GAMES, epsilon: Exact = "0.1", noise: Noise | None = None
) -> AttackReport:
    """Looks at the last digits of a noisy count: can this number come from 0, or from 1?"""
    secrets = coins(games_of(games))
    scale = 1 / float(loss_of(epsilon))
    words = System().uniform(1 << BITS, len(secrets))
    published = secrets + textbook_laplace(words, scale)
    guesses = _guesses(published, scale)
    ours = private_counts(secrets, epsilon, noise)
    allowed = best_guess(epsilon)
    return AttackReport(
        name="floating_point",
        story="A count of 0 or 1 is published with Laplace noise, computed as every textbook says: "
        "-b sign(u) ln(1 - 2|u|) for a uniform float u. The attacker does not look at the size of "
        "the published number but at its last digits: which of the two counts can give exactly "
        "this float?",
        measure="games in which the count is guessed",
        blind=0.5,
        targets=(
            Target("textbook noise in floating point", right(guesses, secrets)),
            Target(
                "textbook noise, if numbers were real",
                right(_nearer(published), secrets),
                allowed=allowed,
            ),
            Target("Ameles: exact integer noise", right(ours >= 1, secrets), allowed=allowed),
        ),
        meaning="A proof about real numbers says nothing about floats. Ameles adds integer noise "
        "whose probabilities are exact, and every integer can come from every count.",
    )


def textbook_laplace(words: IntArray, scale: float) -> Floats:
    """Laplace noise as textbooks compute it from uniform numbers; never use it."""
    centred = words / float(1 << BITS) - 0.5
    with np.errstate(divide="ignore"):
        return np.asarray(-scale * np.sign(centred) * np.log(1 - 2 * np.abs(centred)))


def _guesses(published: Floats, scale: float) -> BoolArray:
    """The count from which the number can come; if it can come from both, the nearer one."""
    zero, one = (_reaches(published, count, scale) for count in (0, 1))
    return np.where(zero == one, _nearer(published), one)


def _nearer(published: Floats) -> BoolArray:
    return np.asarray(published >= 0.5)


def _reaches(published: Floats, count: int, scale: float) -> BoolArray:
    """Whether some uniform word gives exactly this number from this count."""
    wanted = published - count
    # the inverse of the sampler, in exact enough floats to be NEAR words off at most
    centred = -np.sign(wanted) * np.expm1(-np.abs(wanted) / scale) / 2
    middle = np.rint((centred + 0.5) * float(1 << BITS)).astype(np.int64)
    hit = np.zeros(len(published), dtype=np.bool_)
    for step in range(-NEAR, NEAR + 1):
        near = np.clip(middle + step, 0, (1 << BITS) - 1)
        hit |= count + textbook_laplace(near, scale) == published
    return hit
