"""Follow the perturbed leader: experts ranked by private running costs, whose state may be seized.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, section 6, corrected (catalogue 19): one pan-private
             counter for the costs of each expert; in each step the expert with the smallest noisy
             cost minus a fresh exponential perturbation is followed.  All that is done with the
             counts is post-processing, so the guarantee is the counters'.  Their noise has the same
             law at every step, so it costs at most twice its expected largest value
Neighbours   ``expert_costs``: one expert's cost in one step; ``whole_step``: all costs of one step,
             which needs as many times the noise as there are experts
Error        if the costs do not depend on the choices (an oblivious adversary)

The recipe that a ledger sells is the counter; the leader takes the run of it.

>>> from ameles.noise import System, Zero
>>> counter = expert_counter(epsilon=1, experts=3, horizon=8)
>>> leader = PerturbedLeader(counter.start(Zero()), rate=100, noise=Zero())
>>> [leader.step(costs) for costs in ([1, 0, 1], [1, 0, 1], [0, 0, 1])]
[0, 1, 1]
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact, whole
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.noise.arrays import IntArray

FINE = 1 << 53


def expert_counter(
    *, epsilon: Exact, experts: int, horizon: int, grid: int = 1, whole_step: bool = False
) -> PanPrivateCounter:
    """The counters of the experts' costs, whole numbers from 0 to ``grid``.

    ``whole_step`` protects all costs of one step instead of one expert's.

    >>> one, all_ = (expert_counter(epsilon=1, experts=4, horizon=8, whole_step=wide)
    ...              for wide in (False, True))
    >>> all_.scale / one.scale
    Fraction(4, 1)
    """
    count = whole(experts, "experts", low=2, high=1 << 20)
    return PanPrivateCounter(
        epsilon=epsilon, horizon=horizon, width=count, bound=grid * (count if whole_step else 1)
    )


class PerturbedLeader:
    """Follows in each step the expert who leads, after a perturbation.

    ``rate`` is that of the exponential perturbation, in units of the grid: its mean is ``1 / rate``
    times the grid.
    """

    def __init__(self, run: CounterRun, *, rate: Exact, noise: Noise, grid: int = 1) -> None:
        recipe = run.started_from
        self._grid = whole(grid, "grid", low=1, high=1 << 20)
        if not isinstance(recipe, CounterRecipe) or not recipe.width or recipe.bound < self._grid:
            raise BadInput(
                f"A leader with costs up to {self._grid} needs a run of expert_counter with this "
                f"grid. Got {run!r} instead.",
                why="its noise must hide the largest cost",
            )
        self._run = run
        self._experts = recipe.width
        self._noise = noise
        self._rate = float(exact(rate, "rate"))
        if not 0 < self._rate < math.inf:
            raise BadInput("The 'rate' of the perturbation must be above 0.")
        self._costs: IntArray | None = None

    def __repr__(self) -> str:
        return f"<leader over {self._run!r}>"

    def step(self, costs: object) -> int:
        """The expert to follow in this step, chosen before the costs of the step are added."""
        given, _ = reports(costs, 0, self._grid, count=self._experts, refuse=self._not)
        chosen = self._leader()
        self._costs = np.asarray(self._run.step(given))
        return chosen

    def _leader(self) -> int:
        known = np.zeros(self._experts) if self._costs is None else self._costs
        uniform = (self._noise.uniform(FINE, self._experts) + 1) / (FINE + 1)
        perturbed = known + np.log(uniform) * (self._grid / self._rate)
        return int(perturbed.argmin())

    def _not(self, got: str) -> BadInput:
        return BadInput(
            f"The costs of a step must be {self._experts} whole numbers. Got {got} instead."
        )


def leader_regret(
    counter: PanPrivateCounter, *, steps: int, rate: Exact, best: float, grid: int = 1
) -> float:
    """The expected extra cost over the best expert's, if that one has ``best``; in units of 1.

    Kalai-Vempala 2005: (e^rate - 1) best + (1 + ln n) / rate, and twice the expected largest
    noise.

    >>> counter = expert_counter(epsilon=1, experts=4, horizon=1024)
    >>> round(leader_regret(counter, steps=1000, rate="0.1", best=400))
    257
    """
    gamma = float(exact(rate, "rate"))
    experts = counter.columns
    # E max |N_i| is the integral of its quantiles over all levels: from above, level by level.
    # Below the last level the noise doubles with a chance that is far smaller still.
    at = min(steps, counter.horizon or steps)
    levels = [2.0**-place for place in range(40)]
    spread = sum(
        (high - low) * counter.error.bound(at, low / experts) for high, low in pairwise(levels)
    )
    spread += 2 * levels[-1] * counter.error.bound(at, levels[-1] / experts)
    known = (math.exp(gamma) - 1) * best + (1 + math.log(experts)) / gamma
    return known + 2 * spread / grid
