"""The point of a polytope that is nearest to another, with a certified gap.

Theorem      Frank-Wolfe with away steps: a step goes to the best corner or away from the worst.  At
             a point y of the body, gap = max over corners v of <y - target, y - v> is at least
             <y - target, y - z> for every z of the body, and at least the square of the distance
             from y to the projection
Error        the gap is computed at the returned point, so it holds whatever the steps did

Everything here is computed from public numbers, so floats are fine.

>>> nearest(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0]), gap=1e-12).round(6)
array([0.5, 0.5])
"""

from __future__ import annotations

import numpy as np

from ameles.mechanisms.linear_queries import FloatArray


def nearest(corners: FloatArray, target: FloatArray, *, gap: float) -> FloatArray:
    """The point of conv(columns of ``corners``) nearest to ``target``, up to a gap."""
    start = int(np.argmax(corners.T @ target))
    shares = np.zeros(corners.shape[1])
    shares[start] = 1.0
    point = corners[:, start].copy()
    while True:
        slope = point - target
        heights = corners.T @ slope
        here = float(slope @ point)
        best = int(np.argmin(heights))
        toward = here - float(heights[best])
        if toward <= gap:
            return point
        worst = int(np.argmax(np.where(shares > 0, heights, -np.inf)))
        if toward >= float(heights[worst]) - here:
            direction, longest = corners[:, best] - point, 1.0
            length = _step(slope, direction, longest)
            shares *= 1 - length
            shares[best] += length
        else:
            direction = point - corners[:, worst]
            longest = float(shares[worst] / (1 - shares[worst]))
            length = _step(slope, direction, longest)
            shares *= 1 + length
            shares[worst] = max(0.0, shares[worst] - length)
        # computed from the shares, so that rounding errors do not add up
        active = np.flatnonzero(shares)
        point = corners[:, active] @ shares[active]


def _step(slope: FloatArray, direction: FloatArray, longest: float) -> float:
    """The length of the step that makes the distance smallest."""
    return min(longest, float(-(slope @ direction) / (direction @ direction)))
