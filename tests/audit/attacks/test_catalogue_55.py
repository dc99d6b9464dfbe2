"""Reconstruction: the numbers of catalogue 55, all subsets and many random ones."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ameles.noise import System
from tests.noise.sources import Stream

N = 128  # bits, each asked about in half of 8 N random sums


def test_catalogue_55_a_table_that_fits_all_subset_sums_is_within_four_errors() -> None:
    people, error = 8, 1
    subsets = np.array(list(product((0, 1), repeat=people)))
    truth = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    far = np.array([1, 1, 0, 0, 0, 1, 0, 1])
    # answers in the middle of both: wrong by at most 1 for each of the two
    answers = subsets @ (truth + far) / 2
    assert np.abs(answers - subsets @ truth).max() == error
    fits = [c for c in subsets if np.abs(answers - subsets @ c).max() <= error]
    distances = [int(np.abs(c - truth).sum()) for c in fits]
    assert max(distances) == 4 * error  # reached, and never passed


@pytest.fixture(scope="module")
def recovered() -> dict[str, float]:
    """The share of bits that least squares finds, over 4 tables from the same stream each run."""
    noise, queries = System(entropy=Stream("reconstruction")), 8 * N
    small, shares = round(0.2 * math.sqrt(N) * 1000), {"small": 0.0, "private": 0.0}
    for _ in range(4):
        bits = noise.uniform(2, N)
        asked = noise.uniform(2, (queries, N)).astype(np.float64)
        wrong = {
            "small": (noise.uniform(2 * small + 1, queries) - small) / 1000,
            "private": noise.laplace(Fraction(queries), queries),  # epsilon 1 for all sums together
        }
        for name, off in wrong.items():
            normal = asked.T @ asked  # the normal equations of least squares
            guess = np.linalg.solve(normal, asked.T @ (asked @ bits + off)) > 0.5
            shares[name] += float((guess == bits).mean()) / 4
    return shares


def test_catalogue_55_noise_below_the_root_of_n_gives_everything_away(
    recovered: dict[str, float],
) -> None:
    assert recovered["small"] == 1.0


def test_catalogue_55_private_noise_leaves_a_guess(recovered: dict[str, float]) -> None:
    # the catalogue has 0.54; 512 bits, 4.42 standard errors: false alarm 1e-5 if it is right
    assert recovered["private"] == pytest.approx(0.54, abs=4.42 * 0.5 / math.sqrt(4 * N))
