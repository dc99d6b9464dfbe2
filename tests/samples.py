"""A sample of every recipe in the catalogue, for the checks that hold for all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.estimators.noisy_counts import (
    NoisyCropped,
    NoisyHeavy,
    NoisyIncidence,
)
from ameles.mechanisms.continual.modular_once import ModularOnce
from ameles.mechanisms.continual.monitor import WindowMonitor
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.sparse_vector import SparseVector
from ameles.mechanisms.continual.transformation import Continual, continual
from ameles.mechanisms.discovery import KeyDiscovery
from ameles.mechanisms.local import (
    HadamardResponse,
    MarginalResponse,
    MeanResponse,
    ParityLearner,
    RandomizedResponse,
    UnaryEncoding,
)
from ameles.mechanisms.one_shot.choice_series import ChoiceSeries
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.mechanisms.one_shot.gaussian import GaussianMechanism
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.one_shot.histogram import HistogramMechanism
from ameles.mechanisms.one_shot.key_counts import KeyCounts
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.mechanisms.one_shot.laplace import LaplaceMechanism
from ameles.mechanisms.one_shot.noisy_max import NoisyMax
from ameles.mechanisms.one_shot.noisy_top_k import NoisyTopK
from ameles.mechanisms.one_shot.peeled_top_k import PeeledTopK
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.incidence import Incidence
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from tests import checks
from tests.learning_samples import LEARNERS
from tests.recipe_checks import Sample
from tests.table_samples import TABLES
from tests.truthful_samples import TRUTHFUL

USERS = 911
TABLE: dict[str, Any] = {
    "users": USERS,
    "neighbours": "user-presence",
    "epsilon_state": "1/2",
    "epsilon_output": "1/3",
    "releases": 5,
}
MOVED: dict[str, Any] = {**TABLE, "neighbours": "user-substitution"}
ARRIVALS: tuple[Any, ...] = ([3, 3, 5], np.arange(USERS), [], range(4), 7)
# What is wrong about the whole input of a table of users.
NO_LIST: tuple[Any, ...] = ({867}, {"user": 867}, np.full(3, 867.0), np.array([["867"]]))


def table(recipe: Any) -> Sample:
    odd: Any = (
        (lambda x: [3, x, 5], [3, 5]),
        (lambda x: [x], []),
        (lambda _: [3, USERS, -1, 10**30, 5], [3, 5]),
    )
    return Sample(recipe=recipe, inputs=ARRIVALS, canary=867, bad=NO_LIST, odd=odd)


def continued(algorithm: Any) -> Continual:
    return continual(algorithm, horizon=8, epsilon=3, changes=2, jump=1, sensitivity=2)


# No user, and users outside of the universe, in a step that takes one.
ONE_USER: Any = ((lambda x: [x], None), (lambda _: USERS, None), (lambda _: -1, None))


def distinct(algorithm: Any) -> tuple[Sample, ...]:
    """An estimator, and what is sold: it made continual, in three ways."""
    inputs = (3, 3, None, 5, 910)
    more: dict[str, Any] = {"inputs": inputs, "canary": 867, "bad": NO_LIST, "odd": ONE_USER}
    sold = continued(algorithm)
    fresh = Afresh(algorithm=algorithm, horizon=3, epsilon=3, sensitivity=2)
    return (
        Sample(recipe=algorithm, **more, sold=sold),
        Sample(recipe=sold, **more),
        Sample(recipe=replace(fresh, horizon=9), **more),
        Sample(recipe=replace(fresh, horizon=9, delta="1e-6"), **more),
        Sample(recipe=Renewed(inner=fresh, horizon=9), **more),
    )


def often(algorithm: Any) -> tuple[Sample, ...]:
    """An estimator of how often users occurred, and what is sold: it, asked afresh."""
    inputs = (3, 3, None, 5, 910)
    more: dict[str, Any] = {"inputs": inputs, "canary": 867, "bad": NO_LIST, "odd": ONE_USER}
    fresh = Afresh(algorithm=algorithm, horizon=9, epsilon=3, sensitivity=algorithm.sensitivity)
    return (
        Sample(recipe=algorithm, **more, sold=fresh),
        Sample(recipe=fresh, **more),
    )


def asked(recipe: Any) -> Sample:
    return Sample(recipe=recipe, inputs=(3, -12, 40, 0, 7), canary=8_675_309, bad=(None, [3]))


def scored(recipe: Any) -> Sample:
    told = [8_675_309, 0, 5]
    bad = (None, 3, [3], [1, 2, 3, 4], {1, 2, 3}, np.array([[1, 2, 3]]), np.array([1.0, 2.0, 3.0]))
    return Sample(recipe=recipe, inputs=([3, -8, 4],), canary=8_675_309, told=told, bad=bad)


def vector(recipe: Any) -> Sample:
    bad = (None, 3, [3], [1, 2, 3], np.array([1.0, 2.0]))
    told = [8_675_309, 0]
    return Sample(recipe=recipe, inputs=([3, -8],), canary=8_675_309, told=told, bad=bad)


SCORED: dict[str, Any] = {"candidates": 3, "neighbours": "replace"}
KEYS: dict[str, Any] = {"neighbours": "user-presence", "unit": "user"}

ONE_SHOT: tuple[Sample, ...] = (
    Sample(
        recipe=LaplaceMechanism(
            epsilon=1, sensitivity="0.5", granularity="1/4", neighbours="replace"
        ),
        inputs=(Fraction(10, 3),),
        canary=8_675_309,
        bad=(None, [3]),
        takes=(Fraction,),
    ),
    vector(
        LaplaceMechanism(epsilon=1, sensitivity=1, granularity="1/4", width=2, neighbours="replace")
    ),
    vector(HistogramMechanism(epsilon="1/3", bins=2, max_rows=3, neighbours="replace")),
    vector(
        GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=2, width=2, neighbours="replace")
    ),
    Sample(
        recipe=GaussianMechanism(rho="1/3", squared_sensitivity=5, neighbours="replace"),
        inputs=(3,),
        canary=8_675_309,
        bad=(None, [3]),
    ),
    scored(ExponentialMechanism(epsilon="1/3", weights=(1, 2, "1/2"), **SCORED)),
    scored(NoisyMax(epsilon="1/3", **SCORED)),
    scored(PermuteAndFlip(epsilon="1/3", **SCORED)),
    scored(NoisyTopK(epsilon="1/3", k=2, **SCORED)),
    scored(PeeledTopK(epsilon="1/3", k=2, **SCORED)),
    scored(PeeledTopK(rho="1/3", k=2, **SCORED)),
    Sample(
        recipe=KeySelection(epsilon=1, delta="1e-3", max_groups=2, **KEYS),
        inputs=([3, 8, 0, 40],),
        canary=8_675_309,
        told=[8_675_309, 0],
        bad=(None, 3, np.array([[1, 2]])),
    ),
    Sample(
        recipe=KeyCounts(epsilon=1, delta="1e-3", max_rows=3, max_per_key=2, **KEYS),
        inputs=([3, 8, 0, 40],),
        canary=8_675_309,
        told=[8_675_309, 0],
        bad=(None, 3, np.array([[1, 2]])),
    ),
    Sample(
        recipe=GeometricMechanism(epsilon=1, neighbours="add-remove"),
        inputs=(3,),
        canary=8_675_309,
        bad=(None, [3]),
    ),
    Sample(
        recipe=GeometricMechanism(epsilon="1/3", width=2, sensitivity=2, neighbours="replace"),
        inputs=([3, -8],),
        canary=8_675_309,
        told=[8_675_309, 0],
        bad=(None, [3], np.array([1.0, 2.0])),
    ),
)

SERIES = Sample(
    recipe=LaplaceSeries(
        epsilons=(1, "1/2", "1/3", 1, 1),
        sensitivities=(1, 7, 2, 1, 1),
        widths=(1, 1, 1, 1, 1),
        neighbours="add-remove",
    ),
    inputs=([3], [-8], [0], [4], [9]),
    canary=8_675_309,
    told=[8_675_309],
    bad=(None, [3, 4]),
)

CHOICES = Sample(
    recipe=ChoiceSeries(
        epsilons=(1, "1/2", "1/3", 1, 1),
        sensitivities=(1, 7, 2, 1, 1),
        candidates=(3, 3, 3, 3, 3),
        neighbours="add-remove",
        monotone=True,
    ),
    inputs=([3, 1, 0], [-8, 2, 2], [0, 0, 0], [4, 3, 2], [9, 9, 1]),
    canary=8_675_309,
    told=[8_675_309, 0, 0],
    bad=(None, [3, 4]),
)


def local(recipe: Any) -> Sample:
    odd: Any = ((lambda x: x, None),)
    return Sample(recipe=recipe, inputs=(3, None, 0, 2, 9), canary=8_675_309, odd=odd)


OTHERS: tuple[Sample, ...] = (
    *ONE_SHOT,
    local(RandomizedResponse(categories=4, epsilon=1)),
    local(UnaryEncoding(categories=4, odds=3)),
    local(HadamardResponse(categories=4, epsilon="1/3")),
    local(MeanResponse(largest=8, epsilon=1)),
    local(MarginalResponse(attributes=5, epsilon=1)),
    Sample(
        recipe=ParityLearner(bits=2, examples=3, epsilon=1),
        inputs=([[1, 0, 1], [0, 1, 0], [1, 1, 1]],),
        canary=8_675_309,
        told=[[8_675_309, 0, 1], [0, 1, 0], [1, 1, 1]],
        bad=(None, 3, np.ones((3, 2), dtype=np.int64), [[1, 0, 1], [0, 1, 8_675_309]]),
        odd=(
            (lambda x: [[1, 0, 1], x, [1, 1, 1]], [[1, 0, 1], [0, 0, 0], [1, 1, 1]]),
            (lambda x: [[1, 0, 1], [0, x, 1], [1, 1, 1]], [[1, 0, 1], [0, 0, 0], [1, 1, 1]]),
        ),
    ),
    SERIES,
    CHOICES,
    *TABLES,
    *TRUTHFUL,
    *LEARNERS,
    table(Density(**TABLE)),
    table(Density(intrusions=3, **MOVED)),
    table(SampledDensity(sample=99, **TABLE)),
    table(BucketDensity(buckets=77, **MOVED)),
    table(CroppedMean(crop=300, **TABLE)),
    table(CroppedMean(crop=4, **MOVED)),
    table(HeavyHitters(at_least=2, **TABLE)),
    table(Incidence(exactly=3, **MOVED)),
    table(ModularIncidence(modulus=4, **TABLE)),
    table(ModularIncidence(modulus=400, intrusions=2, **MOVED)),
    table(ModularOnce(table=ModularIncidence(modulus=4, **{**TABLE, "releases": 1}), horizon=5)),
    table(ResidueFraction(modulus=5, residues=(1, 3), **TABLE)),
    table(DynamicDensity(primes_from=20, **TABLE)),
    table(DynamicDensity(primes_from=200, intrusions=3, **MOVED)),
    asked(
        SparseVector(
            threshold_epsilon=1,
            query_epsilon=2,
            answer_epsilon="1/3",
            aboves=3,
            threshold=10,
            neighbours="add-remove",
            horizon=9,
        )
    ),
    asked(WindowMonitor(epsilon=1, window=2, threshold=5, aboves=2, answering="1/4", horizon=9)),
    Sample(
        recipe=WindowMonitors(epsilon=1, width=1, window=2, threshold=5, aboves=2, horizon=9),
        inputs=([3], [-12], [40], [0], [7]),
        canary=8_675_309,
        bad=(None, [1, 2]),
    ),
    Sample(
        recipe=KeyDiscovery(
            epsilon=6, delta="1e-6", horizon=9, records=4, per_key=2, cells=2, looks=3, drop_after=3
        ),
        inputs=(
            {"a": (400, 3, 1), "b": (4, 0, 1)},
            {"b": (400, 2, 2), "c": (0, 1, 0)},
            {"c": (400, 2, 2), "a": (4, 1, 0)},
            {},
            {"a": (4, 90, 0)},
            {},
            {"a": (4, 1, 1), "d": (400, 1, 1)},
        ),
        canary=8_675_309,
        told={"a": (4, 8_675_309, 0)},
        bad=(None, {"a": (1, 2)}, {"a": (-1, 0, 0)}, {3: (1, 2, 3)}, {"a": (1, 2.0, 3)}),
    ),
    *distinct(ExactDistinct(users=USERS)),
    *distinct(NoisyDistinct(users=USERS, epsilon="1/2", neighbours="user-presence")),
    *often(NoisyCropped(users=USERS, epsilon="1/2", neighbours="user-presence", crop=3)),
    *often(NoisyHeavy(users=USERS, epsilon="1/2", neighbours="user-substitution", at_least=2)),
    *often(NoisyIncidence(users=USERS, epsilon="1/2", neighbours="user-presence", exactly=300)),
)


def counted(recipe: Any) -> Sample:
    return Sample(recipe=recipe, inputs=(3, -2, 0, 4, 9), canary=8_675_309, bad=(None, [3]))


SAMPLES: tuple[Sample, ...] = (
    *(counted(checks.build(kind, epsilon=1, horizon=64)) for kind in COUNTERS),
    *OTHERS,
)
