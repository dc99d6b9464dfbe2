"""Refuting a claim from draws: a bound on the loss from below, with stated confidence.

Half of the samples choose an event that distinguishes two programs; the other half bounds its
two probabilities by Clopper and Pearson's intervals.  The bound on ln(p / q) is too large with
probability at most 1 - confidence, whatever the laws are.  It never certifies anything: a million
runs do not show small errors in a counter of many steps, so use it for primitives.

>>> from ameles.noise import System
>>> found = sampled_loss(
...     lambda n: System().laplace(Fraction(1), n),
...     lambda n: System().laplace(Fraction(1), n) + 3,
...     epsilon=1, samples=20_000,
... )
>>> found.verdict.value
'refuted'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ameles.audit import solver
from ameles.audit.algebra import Floats
from ameles.audit.finding import Verdict
from ameles.core.exceptions import BadInput
from ameles.core.loss import shown
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.noise.arrays import IntArray

Sampler: TypeAlias = Callable[[int], IntArray]

CONFIDENCE = 1 - 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A lower bound on the loss between two programs, found by sampling.

    >>> import numpy as np
    >>> nobody, somebody = (lambda n: np.zeros(n, dtype=int)), (lambda n: np.ones(n, dtype=int))
    >>> found = sampled_loss(nobody, somebody, epsilon=1, samples=2_000)
    >>> isinstance(found, Sampled), found.event, found.hits
    (True, (0,), (1000, 0))
    """

    epsilon: Fraction
    lower: float
    confidence: float
    samples: int  # of each program, both halves together
    event: tuple[int, ...]  # the outcomes that distinguish the programs
    hits: tuple[int, int]  # how often it happened in the second half, on either program

    @property
    def verdict(self) -> Verdict:
        """Refuted, or nothing: samples do not certify."""
        return Verdict.REFUTED if self.lower > self.epsilon else Verdict.NOT_CERTIFIED

    def __str__(self) -> str:
        return (
            f"claimed {shown(self.epsilon)}, at least {self.lower:.4g} "
            f"with confidence {self.confidence:.8g} from {self.samples} samples, "
            f"{self.verdict.value}"
        )


def sampled_loss(
    program: Sampler,
    neighbour: Sampler,
    *,
    epsilon: Exact,
    samples: int = 200_000,
    confidence: float = CONFIDENCE,
) -> Sampled:
    """Bounds the loss between two programs, each of which returns as many whole numbers as it is
    asked for."""
    claimed = exact(epsilon, "epsilon")
    half = whole(samples, "samples", low=2, high=1 << 32) // 2
    if not 0.5 <= confidence < 1:
        raise refuse("confidence", "at least 0.5 and below 1", confidence)
    error = (1 - confidence) / 2  # for each of the two intervals
    ones, others = _outcomes(program, 2 * half), _outcomes(neighbour, 2 * half)
    event, swapped = _telling_event(ones[:half], others[:half], error)
    if swapped:
        ones, others = others, ones
    hits = int(np.isin(ones[half:], event).sum()), int(np.isin(others[half:], event).sum())
    lower = float(log_ratio(np.array([hits[0]]), np.array([hits[1]]), half, error)[0])
    return Sampled(
        epsilon=claimed,
        lower=max(0.0, lower),
        confidence=confidence,
        samples=2 * half,
        event=tuple(event.tolist()),
        hits=(hits[1], hits[0]) if swapped else hits,
    )


def _outcomes(program: Sampler, count: int) -> IntArray:
    outcomes = np.asarray(program(count))
    if outcomes.shape != (count,) or outcomes.dtype.kind not in "iub":
        raise BadInput(
            f"A program must give {count} whole numbers. "
            f"Got an array of {outcomes.dtype} with the shape {outcomes.shape} instead."
        )
    return outcomes.astype(np.int64)


def _telling_event(ones: IntArray, others: IntArray, error: float) -> tuple[IntArray, bool]:
    """The event with the best bound on these samples, and whether the second has more of it.

    Only events of the outcomes with the largest ratios need to be tried (Neyman-Pearson).
    """
    values = np.union1d(ones, others)
    counts = [
        np.bincount(np.searchsorted(values, drawn), minlength=len(values))
        for drawn in (ones, others)
    ]
    best, choice = -math.inf, (values[:0], False)
    for swapped, (more, fewer) in ((False, counts), (True, counts[::-1])):
        order = np.argsort(-(more + 1) / (fewer + 1), kind="stable")
        bounds = log_ratio(np.cumsum(more[order]), np.cumsum(fewer[order]), len(ones), error)
        place = int(np.argmax(bounds))
        if bounds[place] > best:
            best, choice = float(bounds[place]), (np.sort(values[order[: place + 1]]), swapped)
    return choice


def log_ratio(hits: IntArray, others: IntArray, count: int, error: float) -> Floats:
    """ln(p / q) at least, for p seen ``hits`` and q ``others`` times in ``count`` trials each.

    Clopper and Pearson's bounds, each wrong with probability at most ``error``.
    """
    low = np.where(hits > 0, solver.beta_quantile(error, np.maximum(hits, 1), count - hits + 1), 0)
    rest = np.maximum(count - others, 1)
    high = np.where(others < count, solver.beta_quantile(1 - error, others + 1, rest), 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(low) - np.log(high), dtype=np.float64)
