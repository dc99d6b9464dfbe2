"""Shares of epsilon for releases that declare none, from public parameters only.

If release i has noise of variance V_i / epsilon_i^2, the sum of the variances under one total
epsilon is smallest if epsilon_i is proportional to the cube root of V_i (Lagrange).  V_i is the
variance at epsilon 1, in units of what one event adds, so a release in cents and one in euros get
the same share.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ameles.core.exceptions import PlanError
from ameles.core.loss import Approx, EpsilonLoss, Pure
from ameles.measures.measure import Measure, Terms

# The rest is divided into this many parts, or more if there are many releases.
PARTS = 1000


def default_shares(
    releases: Sequence[tuple[Measure, Terms]], delta: Fraction = Fraction(0)
) -> tuple[Fraction, ...]:
    """The share of each release: the declared one, or its part of what the declared shares
    leave."""
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
    loss: EpsilonLoss = Approx(1, delta) if delta else Pure(1)
    # one release gets all that is left, whatever its noise
    weights = [1.0] if len(open_ones) == 1 else [_weight(*release, loss) for release in open_ones]
    parts = iter(divided(left, weights))
    return tuple(next(parts) if r.share is None else r.share for r, _ in releases)


def divided(whole: Fraction, weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Divides a whole in proportion to the weights, into short fractions that are not zero.

    >>> [str(part) for part in divided(Fraction(1), [1.0, 2.0, 1e-9])]
    ['333/1000', '333/500', '1/1000']
    """
    if not weights:
        return ()
    count = len(weights)
    parts = max(PARTS, 100 * count)
    total = sum(weights)
    # each gets one part, and its proportion of the others, rounded down
    exact = [weight / total * (parts - count) for weight in weights]
    given = [1 + int(part) for part in exact]
    # the remaining parts go to those that lost most by rounding
    by_loss = sorted(range(count), key=lambda i: int(exact[i]) - exact[i])
    for i in range(parts - sum(given)):
        given[by_loss[i % count]] += 1
    return tuple(whole * Fraction(part, parts) for part in given)


def _weight(release: Measure, terms: Terms, loss: EpsilonLoss) -> float:
    return float(release.variance(terms, loss) ** (1 / 3))
