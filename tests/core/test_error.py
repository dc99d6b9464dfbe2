"""Errors are numbers that code can use: a toy that has them, and toys that lack something."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import AdditiveError, Error

from .protocols import lacks, members


class LaplaceError:
    """The error of one Laplace variable of scale 1 per step."""

    def bound(self, t: int, beta: float) -> float:
        return -math.log(beta)

    def bound_all(self, steps: int, beta: float) -> float:
        return self.bound(steps, beta / steps)

    def std(self, t: int) -> float:
        return math.sqrt(2)

    def bounds(self, steps: NDArray[np.int64], beta: float) -> NDArray[np.float64]:
        return np.full(len(steps), self.bound(1, beta))

    def between_bounds(
        self, before: NDArray[np.int64], after: NDArray[np.int64], beta: float
    ) -> NDArray[np.float64]:
        return 2 * self.bounds(after, beta / 2)


def test_a_toy_is_an_error_for_mypy_and_at_run_time() -> None:
    error: Error = LaplaceError()
    additive: AdditiveError = LaplaceError()
    assert lacks(type(error), Error) == lacks(type(additive), AdditiveError) == []


def test_an_additive_error_has_a_deviation_and_bounds_at_many_steps() -> None:
    more = members(AdditiveError).keys() - members(Error).keys()
    assert more == {"std", "bounds", "between_bounds"}


def test_numbers_can_be_computed_with() -> None:
    error: AdditiveError = LaplaceError()
    assert error.bound(1, 0.05) < error.bound_all(100, 0.05)
    # P(|Laplace(1)| <= x) = 1 - exp(-x); nothing here is rounded beyond 1e-15.
    assert math.isclose(1 - math.exp(-error.bound(1, 0.05)), 0.95, rel_tol=1e-12)


def test_an_error_without_a_standard_deviation_is_not_additive() -> None:
    class Bounded:
        def bound(self, t: int, beta: float) -> float:
            return 1.0

        def bound_all(self, steps: int, beta: float) -> float:
            return 1.0

    error: Error = Bounded()
    assert lacks(type(error), Error) == []
    assert lacks(Bounded, AdditiveError) == [
        "std is missing",
        "bounds is missing",
        "between_bounds is missing",
    ]


def test_an_error_with_other_parameters_is_seen() -> None:
    class Reordered:
        bound_all = 1.0

        def bound(self, beta: float, t: int) -> float:
            return 1.0

    assert lacks(Reordered, Error) == [
        "bound does not take self, t, beta",
        "bound_all is not a method",
    ]
