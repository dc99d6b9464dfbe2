"""Silence: a service that publishes only changes tells something by not publishing.

>>> report = silence(epsilon=1)
>>> longest = [target for target in report.targets if target.effort == 256]
>>> [round(target.reached, 2) for target in longest]
[256.0, 0.5]
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ameles.audit.attacks.report import AttackReport, Target, loss_of
from ameles.core.guarantee import Neighbours
from ameles.core.parameters import Exact
from ameles.mechanisms.continual.sparse_vector import SparseVector

STEPS = (1, 4, 16, 64, 256)
TAILS = 60  # scales of noise after which its mass is left out: less than 1e-26


def silence(*, epsilon: Exact = 1) -> AttackReport:
    """Compares how likely a long silence is with one event and without it."""
    whole = loss_of(epsilon)
    recipe = SparseVector(
        threshold_epsilon=whole / 2,
        query_epsilon=whole / 2,
        aboves=1,
        threshold=1,
        neighbours=Neighbours.REPLACE,
    )
    targets = [
        Target("a fixed threshold, fresh noise", _hard(steps, whole), effort=steps)
        for steps in STEPS
    ]
    allowed = float(whole)
    name = "Ameles: sparse vector, the threshold has noise too"
    targets += [
        Target(name, _soft(steps, recipe), effort=steps, allowed=allowed) for steps in STEPS
    ]
    return AttackReport(
        name="silence",
        story="A service compares a count with a threshold at every step, with fresh noise each "
        "time, and publishes only when it is above. Nothing happens for a long time. With one "
        "event more the count would be at the threshold: how much less likely would the silence "
        "be?",
        measure="privacy loss that the silence shows (epsilon)",
        blind=0.0,
        targets=tuple(targets),
        effort="steps without an update",
        share=False,
        meaning="Each step without an update tells a little, and the steps add up without end. "
        "Noise on the threshold itself, drawn once, covers all silent steps together.",
    )


def _hard(steps: int, epsilon: Fraction) -> float:
    """ln of the ratio for fresh noise of scale 1 / epsilon on counts of 0 and of 1."""
    values, law = _laplace(1 / epsilon)
    without, with_it = (float(law[values + count < 1].sum()) for count in (0, 1))
    return steps * math.log(without / with_it)


def _soft(steps: int, recipe: SparseVector) -> float:
    """The same with the noise of the recipe; computed over all values of the threshold's noise."""
    values, law = _laplace(recipe.query_scale)
    below = np.concatenate(([0.0], np.cumsum(law)))  # below[i]: the noise is under values[i]
    thresholds, weights = _laplace(recipe.threshold_scale)

    def quiet(count: int) -> float:
        # a query stays below while count + nu < threshold + rho
        places = np.searchsorted(values, recipe.threshold + thresholds - count)
        return float(np.sum(weights * below[places] ** steps))

    return math.log(quiet(0) / quiet(1))


def _laplace(scale: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Whole numbers and their probabilities under discrete Laplace noise."""
    far = math.ceil(TAILS * scale)
    values = np.arange(-far, far + 1)
    law = np.exp(-np.abs(values) / float(scale))
    return values, law / law.sum()
