"""A sample of every learner that is a mechanism of its own, for the checks that hold for all."""

from __future__ import annotations

import numpy as np

from ameles.mechanisms.learning import GradientCounter, Mixture, Perceptron, WeightedMajority
from tests.recipe_checks import Sample

CANARY = 8_675_309

LEARNERS: tuple[Sample, ...] = (
    Sample(
        recipe=WeightedMajority(rho="1/3", experts=2, horizon=9, grid=10**6),
        inputs=([3, 8], [0, 10**6], [7, 1], [0, 0], [5, 5]),
        canary=CANARY,
        told=[CANARY, 0],
        bad=(None, 3, [3], [1, 2, CANARY], np.array([1.0, CANARY]), {CANARY}, str(CANARY)),
        odd=((lambda x: [7, x], [7, 0]),),
    ),
    Sample(
        recipe=WeightedMajority(rho="1/3", experts=2, signed=True),
        inputs=([1, -1], [0, 1], [1, 1], [0, 0], [-1, 1]),
        canary=CANARY,
        told=[CANARY, 0],
        bad=(None, [3]),
        odd=((lambda x: [1, x], [1, 0]),),
    ),
    Sample(
        recipe=GradientCounter(rho="1/3", horizon=9, width=2, bound=5),
        inputs=([3, 4], [0, 5], [-4, 3], [0, 0], [5, 0]),
        canary=CANARY,
        told=[CANARY, 0],
        bad=(None, 3, [3], [1, 2, 3], np.array([1.0, 2.0])),
    ),
    Sample(
        recipe=Perceptron(epsilon=1, rounds=2, features=2, grid=9, neighbours="replace"),
        inputs=(([[3, 8], [-4, 1]], [1, 0]),),
        canary=CANARY,
        told=([[CANARY, 0]], [1]),
        bad=(None, [3], ([[1, 2]], [0, 1]), (np.array([[1, 2, CANARY]]), [1]), ({CANARY}, [1])),
        odd=(
            (lambda x: ([[3, 8], [5, x]], [1, 0]), ([[3, 8]], [1])),
            (lambda x: ([[3, 8], x], [1, 0]), ([[3, 8]], [1])),
            (lambda x: ([[3, 8], [5, 5]], [1, x]), ([[3, 8]], [1])),
        ),
    ),
    Sample(
        recipe=Mixture(epsilon=1, rounds=2, features=2, grid=9, groups=2, neighbours="add-remove"),
        inputs=([[3, 8], [4, 1], [9, 9]],),
        canary=CANARY,
        told=[[CANARY, 0]],
        bad=(None, {CANARY}, np.array([[1, 2, CANARY]]), np.array([[1.5, CANARY]])),
        odd=(
            (lambda x: [[3, 8], [5, x]], [[3, 8]]),
            (lambda x: [[3, 8], x], [[3, 8]]),
        ),
    ),
)
