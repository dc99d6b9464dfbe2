"""Learning labels: by statistical queries, and privately over a finite class of hypotheses.

SQ           ``learn_conjunction`` learns which of d bits must all be one.  It asks for every bit
             how often it is zero where the label is one; a bit of the target never is.  With
             answers within alpha / 2d its error is at most alpha.  It runs on any oracle: central,
             or local with users who are asked once (Kearns 1998; catalogue 33)
PAC          ``finite_class_learner`` gives one of |C| hypotheses by the exponential mechanism on
             the number of wrong labels.  With n = max(8 ln(4 |C| / beta) / alpha^2,
             4 ln(2 |C| / beta) / (epsilon alpha)) examples its error is within alpha of the best
             in the class, with probability 1 - beta, whatever the labels are (catalogue 33)
Neighbours   one example is replaced

>>> from ameles.noise import Zero
>>> examples = [((1, 1, 0), 1), ((1, 0, 1), 0), ((0, 1, 1), 0), ((1, 1, 1), 1)]
>>> from ameles.mechanisms.local.statistical_query import CentralQueries
>>> oracle = CentralQueries(examples, epsilon=1, queries=3, noise=Zero())
>>> learn_conjunction(oracle, bits=3, alpha=0.3)
(0, 1)
>>> learner = finite_class_learner(hypotheses=2, epsilon=1)
>>> learner.start(Zero()).step([-3, -1])
1
>>> pac_sample_size(hypotheses=1000, alpha=0.1, beta=0.05, epsilon=0.1)
9032
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ameles.core.parameters import Exact, refuse, whole
from ameles.mechanisms.local.statistical_query import StatisticalOracle, positive
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.noise.arrays import IntArray

Labelled: TypeAlias = tuple[Sequence[int], int]


def learn_conjunction(
    oracle: StatisticalOracle[Labelled], *, bits: int, alpha: float
) -> tuple[int, ...]:
    """The bits whose conjunction is the label: ``bits`` queries of tolerance alpha / 2 bits."""
    tolerance = alpha / (2 * whole(bits, "bits", low=1, high=1 << 20))
    return tuple(place for place in range(bits) if _zero_in_positives(oracle, place) <= tolerance)


def _zero_in_positives(oracle: StatisticalOracle[Labelled], place: int) -> float:
    return oracle(lambda example: int(example[1] == 1 and example[0][place] == 0))


def finite_class_learner(*, hypotheses: int, epsilon: Exact) -> ExponentialMechanism:
    """Picks one of so many hypotheses; its step takes minus the number of wrong labels of each.

    One example that is replaced changes each of these numbers by at most one.
    """
    return ExponentialMechanism(candidates=hypotheses, epsilon=epsilon, neighbours="replace")


def pac_sample_size(*, hypotheses: int, alpha: float, beta: float, epsilon: float) -> int:
    """How many examples a private learner of a finite class needs."""
    size = whole(hypotheses, "hypotheses", low=1, high=1 << 62)
    for number, name in ((alpha, "alpha"), (beta, "beta")):
        if not 0 < number < 1:
            raise refuse(name, "above 0 and below 1", number)
    sample = 8 * math.log(4 * size / beta) / alpha**2
    choice = 4 * math.log(2 * size / beta) / (positive(epsilon) * alpha)
    return math.ceil(max(sample, choice))


def wrong_labels(predictions: IntArray, labels: IntArray) -> IntArray:
    """How many labels each hypothesis, a row of predictions, gets wrong.

    >>> wrong_labels(np.array([[0, 1, 1], [1, 1, 1]]), np.array([0, 1, 0]))
    array([1, 2])
    """
    wrong: IntArray = (predictions != labels).sum(axis=1).astype(np.int64)
    return wrong
