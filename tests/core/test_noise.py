"""The protocol of noise: a toy that has all of it, and one that lacks something.

The annotations are what mypy checks; ``lacks`` does the same at run time, so that it can
also be shown to fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ameles.core.noise import Noise, Shape

from .protocols import lacks, members

if TYPE_CHECKING:
    from ameles.core.noise import BoolArray, IntArray


class Still:
    """Noise that is always zero, true or the first."""

    genuine = False
    forgetful = True

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        return np.ones(size, dtype=np.bool_)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        return np.ones(size, dtype=np.bool_)

    def uniform(self, n: int, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        return 0

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        return 0

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        return np.ones(penalties.shape, dtype=np.bool_)

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)


def test_a_toy_is_noise_for_mypy_and_at_run_time() -> None:
    noise: Noise = Still()
    assert lacks(type(noise), Noise) == []


def test_the_protocol_asks_for_what_the_design_lists() -> None:
    assert list(members(Noise)) == [
        "genuine",
        "forgetful",
        "laplace",
        "gaussian",
        "bernoulli",
        "bernoulli_exp",
        "uniform",
        "choose",
        "pick",
        "accept",
        "truncated_laplace",
    ]


def test_noise_without_a_law_is_seen() -> None:
    class Partial:
        genuine = True
        forgetful = True

        def laplace(self, scale: Fraction) -> int:
            return 0

    assert lacks(Partial, Noise)[:2] == [
        "laplace does not take self, scale, size",
        "gaussian is missing",
    ]
