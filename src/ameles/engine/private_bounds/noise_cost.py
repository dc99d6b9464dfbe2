"""The noise that a candidate needs, as a public penalty in the units of what it clips.

A bound is judged alone: the other bounds are as narrow as they can be, so that one user counts as
one event.  What a bound clips and the noise that it needs both grow with the other bounds, so
leaving these out changes little.

The penalty of a release is the standard deviation of its noise, times the numbers that it publishes
about the data: one for each key, and for windows as many as there are without overlap.  The penalty
of a bound on users is the mean over the releases whose noise depends on it.  Each release has its
share of epsilon in the plan as it is.  All of it comes from the plan and the public clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ameles.core.exceptions import AmelesError
from ameles.core.loss import EpsilonLoss
from ameles.engine.private_bounds.candidates import USER_BOUNDS, CandidateBound, with_bounds
from ameles.measures.bounded import BoundedMeasure
from ameles.measures.measure import Measure
from ameles.plan.plan import Plan

SCALE = 1000  # penalties and clipped amounts are in thousandths of a unit
LARGEST = 1 << 60


def noise_costs(
    plan: Plan, bound: CandidateBound, others: Sequence[CandidateBound], steps: int
) -> tuple[int, ...] | None:
    """The penalty of each candidate, in thousandths of a unit; None if no noise depends on it.

    ``steps`` is how many steps of the stream have ended.  A candidate for which a release has no
    mechanism gets the largest penalty.
    """
    rows = [_of_releases(plan, bound, candidate, others, steps) for candidate in bound.candidates]
    varying = [costs for costs in zip(*rows, strict=True) if len(set(costs)) > 1]
    if not varying:
        return None
    means = [sum(costs) / len(varying) for costs in zip(*varying, strict=True)]
    return tuple(LARGEST if mean * SCALE >= LARGEST else math.ceil(SCALE * mean) for mean in means)


def _of_releases(
    plan: Plan,
    bound: CandidateBound,
    candidate: Fraction,
    others: Sequence[CandidateBound],
    steps: int,
) -> list[float]:
    """The penalty of each release that the bound is about."""
    narrow = {
        other.label: Fraction(1) if other.name in USER_BOUNDS else other.candidates[0]
        for other in others
    }
    shares = plan.shares
    names = [one.name for one in plan.releases if bound.release in (None, one.name)]
    try:
        other = with_bounds(plan, {**narrow, bound.label: candidate})
        return [
            _of_release(other, one, bound, steps, shares[one.name])
            for one in other.releases
            if one.name in names
        ]
    except AmelesError:  # no mechanism can have this bound
        return [math.inf] * len(names)


def _of_release(
    plan: Plan, release: Measure, bound: CandidateBound, steps: int, loss: EpsilonLoss
) -> float:
    """The noise of all numbers of a release: in events, or for a bound on values in grid units."""
    variance = release.variance(plan.terms(release), loss)
    window = plan.window(release)
    spans = 1 if window is None else -(-steps // window)
    one = math.sqrt(variance) * max(1, len(release.keys)) * spans
    if bound.release is None or not isinstance(release, BoundedMeasure):
        return one
    return one * release.largest / release.parts
