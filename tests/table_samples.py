"""A sample of every mechanism that looks at a whole table, for the checks that hold for all."""

from __future__ import annotations

import numpy as np

from ameles.mechanisms.interactive.multiplicative_weights import MultiplicativeWeights
from ameles.mechanisms.one_shot.k_projected import ProjectedQueries
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.mechanisms.one_shot.net import SmallDatabase
from ameles.mechanisms.one_shot.propose_test_release import ProposeTestRelease
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.mechanisms.one_shot.smooth_median import SmoothMedian
from ameles.mechanisms.one_shot.subsample_aggregate import SubsampleAggregate
from tests.recipe_checks import Sample

TABLES: tuple[Sample, ...] = (
    Sample(
        recipe=MultiplicativeWeights(
            universe=3,
            rows=10**9,
            threshold=10,
            updates=2,
            rate="1/2",
            threshold_epsilon=1,
            query_epsilon=2,
            answer_epsilon="1/3",
            horizon=9,
        ),
        inputs=(([1, 0, 1], 3), ([0, 1, 0], 10**8), ([True, False, False], 7), ([1, 1, 0], 10**9)),
        canary=8_675_309,
        told=([1, 0, 1], 8_675_309),
        bad=(None, [3], (8_675_309, [1, 0, 1]), ([1, 0, 1], 8_675_309.0), ([1, 0, 2], 3)),
    ),
    Sample(
        recipe=SyntheticTable(
            epsilon=1, universe=3, queries=2, rows=10**9, rounds=2, neighbours="replace"
        ),
        inputs=(([[1, 0, 1], [0, 1, 0]], [3, 10**8, 10**9]),),
        canary=8_675_309,
        told=([[1, 0, 1], [0, 1, 0]], [8_675_309, 0, 1]),
        bad=(None, [3], ([[1, 0, 1]], [1, 2, 3]), ([[1, 0, 1], [0, 1, 0]], [8_675_309.0, 0, 1])),
    ),
    Sample(
        recipe=SmoothMedian(epsilon=1, rows=5, largest=10**7, neighbours="replace"),
        inputs=([3, 10**6, 5, 9, 10],),
        canary=8_675_309,
        told=[8_675_309, 1, 2, 3, 4],
        bad=(None, [3], np.array([1, 2, 3, 4, 8_675_309.0]), {8_675_309}),
        odd=((lambda x: [3, 10**6, 5, x, 10], [3, 10**6, 5, 0, 10]),),
    ),
    Sample(
        # enough rows that the two tables differ in their smooth sensitivity
        recipe=SmoothMedian(epsilon=1, delta="1e-5", rows=101, largest=10**7, neighbours="replace"),
        inputs=([10**6] * 101,),
        canary=8_675_309,
        told=[8_675_309] * 51 + [0] * 50,
        bad=(None, [3], [1, 2, 3, 4]),
        odd=((lambda x: [*range(100), x], [*range(100), 0]),),
    ),
    Sample(
        recipe=ProposeTestRelease(epsilon=1, delta="1e-3", proposed=2, neighbours="add-remove"),
        inputs=((3, 20),),
        canary=8_675_309,
        told=(8_675_309, 20),
        bad=(None, [3], (3, 4.0), (8_675_309.0, 4)),
    ),
    Sample(
        recipe=SubsampleAggregate(epsilon=1, blocks=3, largest=10**7, neighbours="add-remove"),
        inputs=([3, 10**6, 5],),
        canary=8_675_309,
        told=[8_675_309, 1, 2],
        bad=(None, [3], [1, 2, 3, 4]),
        odd=((lambda x: [3, x, 5], [3, 0, 5]),),
    ),
    Sample(
        recipe=SmallDatabase(
            epsilon=1, universe=3, queries=2, rows=10**9, size=4, neighbours="replace"
        ),
        inputs=(([[1, 0, 1], [0, 1, 0]], [3, 10**8, 10**9]),),
        canary=8_675_309,
        told=([[1, 0, 1], [0, 1, 0]], [8_675_309, 0, 1]),
        bad=(None, [3], ([[1, 0, 1]], [1, 2, 3]), ([[1, 0, 1], [0, 1, 0]], [8_675_309.0, 0, 1])),
    ),
    Sample(
        recipe=ProjectedQueries(epsilon=1, universe=3, queries=2, rows=10**9, neighbours="replace"),
        inputs=(([[1, 0, 1], [0, 1, 0]], [3, 10**8, 10**9]),),
        canary=8_675_309,
        told=([[1, 0, 1], [0, 1, 0]], [8_675_309, 0, 1]),
        bad=(None, [3], ([[1, 0, 1]], [1, 2, 3]), ([[1, 0, 1], [0, 1, 0]], [8_675_309.0, 0, 1])),
    ),
    Sample(
        recipe=SecondMoments(epsilon=1, bounds=(1, 2048), neighbours="add-remove"),
        inputs=([[1, 3], [1, -2048]],),
        canary=8_675_309,
        told=[[1, 8_675_309]],
        bad=(None, np.array([[1, 2, 8_675_309]]), np.array([[1.0, 8_675_309.0]]), {8_675_309}),
        odd=((lambda x: [[1, 3], [1, x]], [[1, 3]]), (lambda x: [[1, 3], x], [[1, 3]])),
    ),
)
