"""Shares of epsilon for releases that declare none, from public parameters alone.

With noise of variance V_i / epsilon_i^2 in each release, the sum of the variances under one total
epsilon is smallest where epsilon_i is in proportion to the cube root of V_i (Lagrange).  V_i is
the variance at epsilon 1, in units of what one event adds, so that a release in cents and one in
euros get the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ameles.core.exceptions import PlanError
from ameles.core.loss import Approx, Loss, Pure
from ameles.measures.measure import Measure, Terms

# What is left is cut into so many parts, or more if there are many releases.
PARTS = 1000


def default_shares(
    releases: Sequence[tuple[Measure, Terms]], delta: Fraction = Fraction(0)
) -> tuple[Fraction, ...]:
    """The share of each release: its own, or its part of what the declared ones leave."""
    declared = sum((release.share or Fraction(0) for release, _ in releases), Fraction(0))
    open_ones = [(release, terms) for release, terms in releases if release.share is None]
    left = 1 - declared
    if left < 0 or (open_ones and left == 0):
        raise PlanError(
            "The declared shares leave nothing for the other releases."
            if open_ones
            else "The shares of the releases add up to more than 1.",
            why="every release of a stream adds to its loss",
            tip="shares that sum to at most 1, or below 1 where some are left out",
        )
    loss: Loss = Approx(1, delta) if delta else Pure(1)
    # one release gets all that is left, whatever its noise
    weights = [1.0] if len(open_ones) == 1 else [_weight(*release, loss) for release in open_ones]
    parts = iter(divided(left, weights))
    return tuple(next(parts) if r.share is None else r.share for r, _ in releases)


def divided(whole: Fraction, weights: Sequence[float]) -> tuple[Fraction, ...]:
    """A whole in proportion to the weights: short fractions that sum to it, none of them zero.

    >>> [str(part) for part in divided(Fraction(1), [1.0, 2.0, 1e-9])]
    ['333/1000', '333/500', '1/1000']
    """
    if not weights:
        return ()
    count = len(weights)
    parts = max(PARTS, 100 * count)
    total = sum(weights)
    # each gets one part, and of the others its proportion, rounded down
    exact = [weight / total * (parts - count) for weight in weights]
    given = [1 + int(part) for part in exact]
    # the parts that are left go to those who lost most by the rounding
    by_loss = sorted(range(count), key=lambda i: int(exact[i]) - exact[i])
    for i in range(parts - sum(given)):
        given[by_loss[i % count]] += 1
    return tuple(whole * Fraction(part, parts) for part in given)


def _weight(release: Measure, terms: Terms, loss: Loss) -> float:
    return float(release.variance(terms, loss) ** (1 / 3))
