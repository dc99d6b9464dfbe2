"""The noise of counters in words, in the units of what is published."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ameles.core.loss import Pure
from ameles.measures.linear import draw_in_words
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from tests.measures.asked import BOUNDS, measure, user_terms


def test_what_adds_up_is_in_units_of_the_value() -> None:
    """A sum on a grid of tenths has a tenth of the noise of one on a grid of ones."""
    on, words = user_terms(), []
    for granularity in ("1", "0.1"):
        fields = {**BOUNDS, "upper": 100 * Fraction(granularity), "granularity": granularity}
        release = measure("sum", **fields)
        words.append(release.noise_in_words(release.recipe(on, Pure(1)), on, 2).rsplit(" ", 1))
    (law, coarse), (other, fine) = words
    assert law == other
    assert float(coarse.replace(",", "")) == pytest.approx(
        10 * float(fine.replace(",", "")), rel=0.01
    )


def test_the_law_of_one_draw_in_words() -> None:
    laplace = SiblingsCounter(epsilon=Fraction(1, 2), horizon=8)
    assert draw_in_words(laplace) == f"discrete Laplace of scale {float(laplace.scale):g}"
    gaussian = GaussianBinaryCounter(rho=1, horizon=8)
    assert draw_in_words(gaussian).startswith("discrete Gaussian of deviation")
    filtered = ToeplitzCounter(rho=1, horizon=8)
    assert draw_in_words(filtered) == "discrete Gaussian, filtered over the steps"
