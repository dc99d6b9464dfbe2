"""Histograms: the relation decides the noise, and the slides' noise loses twice as much."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot import GeometricMechanism, HistogramMechanism
from ameles.noise import Tape, Zero


class OneOverEpsilon(HistogramMechanism):
    """Lap(1 / epsilon) under every relation, as on the slides."""

    @property
    def reach(self) -> int:
        return self.max_rows


def test_without_noise_it_is_the_truth() -> None:
    recipe = HistogramMechanism(epsilon=1, bins=3, neighbours="add-remove")
    assert recipe.start(Zero()).step((3, 1, 4)).tolist() == [3, 1, 4]


@pytest.mark.parametrize(
    ("neighbours", "unit", "rows", "moved"),
    [
        ("add-remove", "event", 1, 1),
        ("replace", "event", 1, 2),
        ("user-presence", "user", 7, 7),
        ("user-substitution", "user", 7, 14),
    ],
)
def test_the_relation_and_the_rows_decide_the_noise(
    neighbours: str, unit: str, rows: int, moved: int
) -> None:
    recipe = HistogramMechanism(
        epsilon="1/2", bins=2, max_rows=rows, neighbours=neighbours, unit=unit
    )
    tape = Tape([5, -1])
    assert recipe.start(tape).step([3, 4]).tolist() == [8, 3]
    assert tape.laws == [("laplace", Fraction(2 * moved))] * 2
    change = recipe.guarantee.contribution
    assert (change.steps, change.bound, change.norm) == (1, moved, Norm.L1)


def test_a_replaced_row_moves_two_bins() -> None:
    def look(recipe: Any, counts: list[int]) -> Callable[[Noise], tuple[int, ...]]:
        def program(noise: Noise) -> tuple[int, ...]:
            return tuple((recipe.start(noise).step(counts) % 5).tolist())

        return program

    shared: dict[str, Any] = {"bins": 2, "neighbours": "replace"}
    right, wrong = HistogramMechanism(epsilon=2, **shared), OneOverEpsilon(epsilon=1, **shared)
    programs = [look(right, counts) for counts in ([3, 1], [2, 2])]
    assert enumerated_loss(*programs, epsilon=2, modulus=5).verdict is Verdict.CERTIFIED
    programs = [look(wrong, counts) for counts in ([3, 1], [2, 2])]
    finding = enumerated_loss(*programs, epsilon=1, modulus=5)
    assert finding.verdict is Verdict.REFUTED
    assert 1.7 < finding.loss <= 2


def test_the_error_is_that_of_the_geometric_mechanism() -> None:
    recipe = HistogramMechanism(epsilon="1/3", bins=10, neighbours="replace")
    same = GeometricMechanism(epsilon="1/3", sensitivity=2, width=10, neighbours="replace")
    assert recipe.error == same.error


@pytest.mark.parametrize("bad", [3, [1], [1, 2, 3], np.array([1.0, 2.0]), {"a": 1, "b": 2}])
def test_there_is_one_count_for_each_bin(bad: object) -> None:
    with pytest.raises(BadInput, match="must be 2 whole numbers"):
        HistogramMechanism(epsilon=1, bins=2, neighbours="replace").start(Zero()).step(bad)
