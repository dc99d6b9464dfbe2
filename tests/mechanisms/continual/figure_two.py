"""Figure 2 at four steps, written down a second time as sums: the worst ratio of any view.

With four steps each half has one noise h of its own on the threshold and each step one more, so
given h the steps are independent.  A seized state shows the h of the half that is open: after
the first step or after the third.  Scales are those printed, for sensitivity 1, epsilon 1 and
one update: 2 on the threshold, 4 on comparisons and values.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

THRESHOLD_SCALE = 2.0
DECISION_SCALE = 4.0
FAR = 150  # beyond it a step's own threshold noise has probability exp(-75)


def mass(k: Ints, scale: float) -> Floats:
    return np.asarray(math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale))


def below(k: Ints, scale: float) -> Floats:
    """P(Z < k)."""
    q = math.exp(-1 / scale)
    tail = q ** np.where(k > 0, k, 1 - k) / (1 + q)
    return np.asarray(np.where(k > 0, 1 - tail, tail))


def no_update(threshold: int, h: Ints, distance: Ints) -> Floats:
    """P(|distance + nu| <= threshold + h + own), a row over h for each distance."""
    own = np.arange(-FAR, FAR + 1)
    bar = threshold + h[:, None] + own
    rows = []
    for d in distance:
        inside = below(bar - d + 1, DECISION_SCALE) - below(-bar - d, DECISION_SCALE)
        rows.append((np.where(bar >= 0, inside, 0.0) * mass(own, THRESHOLD_SCALE)).sum(axis=1))
    return np.array(rows)


def largest_ratio(law: Floats, steps: int) -> float:
    """The largest log-ratio between entries at most 1 apart on each of the first axes."""
    logs = np.log(law)
    best = 0.0
    # a shift and its opposite compare the same entries, once in each direction
    for shift in list(product((-1, 0, 1), repeat=steps))[: (3**steps + 1) // 2]:
        here = tuple(slice(max(0, s), law.shape[i] + min(0, s)) for i, s in enumerate(shift))
        there = tuple(slice(max(0, -s), law.shape[i] + min(0, -s)) for i, s in enumerate(shift))
        apart = logs[here] - logs[there]
        best = max(best, float(apart.max()), -float(apart.min()))
    return best


def half_loss(factors: list[Floats], prior: Floats) -> tuple[float, float]:
    """The loss of one half's steps, with its h hidden and with its h seen."""
    if not factors:
        return 0.0, 0.0
    law = factors[0] * prior
    if len(factors) == 2:
        law = law[:, None, :] * factors[1][None, :, :]
    return largest_ratio(law.sum(axis=-1), len(factors)), largest_ratio(law, len(factors))


def worst_loss(*, threshold: int, window: int, answers: int, publishes_halt: bool) -> float:
    """Over all patterns of updates, values and h within the window, and answers this far from 0."""
    h, possible = np.arange(-window, window + 1), np.arange(-answers, answers + 1)
    prior = mass(h, THRESHOLD_SCALE)
    reach = window + answers
    light = no_update(threshold, h, np.arange(-reach, reach + 1))

    def factor(kind: str, last: int, value: int) -> Floats:
        row = light[last - possible + reach]
        match kind:
            case "light":
                return row
            case "first":
                return np.asarray((1 - row) * mass(value - possible, DECISION_SCALE)[:, None])
        return np.asarray(1 - row)

    def described(step: int, updates: tuple[int, ...], value: int) -> tuple[str, int, int]:
        """What the factor of a step depends on: a half may be like that of another pattern."""
        last = value if updates and step > updates[0] else 0
        if step not in updates:
            return "light", last, 0
        return ("first", last, value) if step == updates[0] else ("second", last, 0)

    @cache
    def half(*steps: tuple[str, int, int]) -> tuple[float, float]:
        return half_loss([factor(*step) for step in steps], prior)

    worst = 0.0
    for updates in (u for count in range(3) for u in combinations(range(4), count)):
        halts = len(updates) == 2
        taken = updates[1] + 1 if halts else 4
        published = 1 / DECISION_SCALE if halts and publishes_halt else 0.0
        for value in range(-window, window + 1) if updates else [0]:
            steps = [described(step, updates, value) for step in range(taken)]
            (first, first_seen), (last, last_seen) = half(*steps[:2]), half(*steps[2:])
            seized_once = max(first + last, first_seen + last, first + last_seen)
            worst = max(worst, seized_once + published)
    return worst
