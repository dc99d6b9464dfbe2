"""Tails by an integral in the complex plane: against closed forms, convolutions and itself."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.mechanisms.laplace import contour as laplace_contour
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace import saddle_path
from ameles.mechanisms.laplace.contour import Sums
from ameles.mechanisms.laplace.saddle_path import FloatArray, ScaledSums

BETAS = (0.99, 0.5, 0.05, 1e-3, 1e-10, 1e-100)
LAWS = st.lists(
    st.tuples(st.floats(-3, 3).map(lambda power: 10**power), st.integers(1, 10**6)),
    min_size=1,
    max_size=4,
)


def sums(law: list[tuple[float, int]], *, lattice: bool) -> Sums:
    widths, counts = np.array(law, dtype=np.float64).T
    return Sums(widths[None], counts[None], lattice=lattice)


def discrete(scales: list[float], counts: list[int]) -> Sums:
    widths = [laplace_sum.width(Fraction(scale)) for scale in scales]
    return sums(list(zip(widths, counts, strict=True)), lattice=True)


def convolved(scales: list[float], counts: list[int], most: int) -> FloatArray:
    """P(|Y| > m) for m up to ``most``, by the Fourier transform of a window that Y hardly leaves.

    The window is 40 scales longer than 12 deviations, so that less than 1e-15 is outside.
    """
    spread = math.sqrt(sum(2 * n * b * b for b, n in zip(scales, counts, strict=True)))
    size = 2 * (most + int(12 * spread + 40 * max(scales)) + 2)
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    law = np.ones_like(angle)
    for b, n in zip(scales, counts, strict=True):
        law /= (1 + (np.sin(angle / 2) / math.sinh(1 / (2 * b))) ** 2) ** n
    masses = np.fft.irfft(law, size)
    tails: FloatArray = 1 - masses[0] - 2 * np.cumsum(np.append(0, masses[1 : most + 1]))
    return tails


@pytest.mark.parametrize("terms", [1, 2, 3, 10, 60])
def test_continuous_tails_have_their_closed_form(terms: int) -> None:
    law = sums([(10.0, terms)], lattice=False)
    for beta in BETAS:
        x = law.quantiles(beta)
        exact = laplace_sum.continuous_tail(terms, float(x[0]) / 10)
        allowed = 1e-7 if beta <= 0.5 else 1e-5
        assert law.tails(x)[0] == pytest.approx(exact, rel=allowed)
        assert beta * (1 - 2 * laplace_contour.ROUGH_GUARD) <= exact <= beta


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.0, 1000.0])
@pytest.mark.parametrize("terms", [1, 3, 40, 128])
def test_discrete_tails_have_their_finite_formula(terms: int, scale: float) -> None:
    law = discrete([scale], [terms])
    for reach in (0, 1, 5, 20):
        m = int(reach * scale * math.sqrt(terms))
        exact = laplace_sum.tail(terms, Fraction(scale), m)
        assert law.tails(np.array([m + 0.5]))[0] == pytest.approx(exact, rel=1e-5)
    for beta in BETAS:
        m = math.ceil(law.quantiles(beta)[0] - 0.5)
        assert laplace_sum.tail(terms, Fraction(scale), m) <= beta
        if m:  # and no smaller number would do
            least = beta * (1 - laplace_contour.ROUGH_GUARD)
            assert laplace_sum.tail(terms, Fraction(scale), m - 1) > least


@pytest.mark.parametrize(
    ("scales", "counts"),
    [
        ([20.0, 3.0], [1, 6]),
        ([2.0, 4.0, 8.0], [3, 3, 3]),
        ([0.3, 0.9], [5, 1]),
        ([9.0, 1.0], [1, 400]),
    ],
)
def test_different_scales_equal_their_convolution(scales: list[float], counts: list[int]) -> None:
    law = discrete(scales, counts)
    exact = convolved(scales, counts, 200)
    for m in range(0, 200, 7):
        # the convolution has an absolute error of about 1e-14
        assert law.tails(np.array([m + 0.5]))[0] == pytest.approx(exact[m], rel=1e-5, abs=1e-12)


def farther(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path twice as long, in steps a quarter as wide."""
    monkeypatch.setattr(saddle_path, "REACH", 14.0)
    monkeypatch.setattr(saddle_path, "POINTS", 400)


@given(law=LAWS, lattice=st.booleans(), beta=st.sampled_from(BETAS))
def test_a_longer_and_finer_path_gives_the_same(
    law: list[tuple[float, int]], lattice: bool, beta: float
) -> None:
    x = sums(law, lattice=lattice).quantiles(beta)
    with pytest.MonkeyPatch.context() as monkeypatch:
        farther(monkeypatch)
        tail = float(sums(law, lattice=lattice).tails(x)[0])
    assert tail <= beta
    if x[0] > 0:
        assert tail == pytest.approx(beta, rel=2 * laplace_contour.ROUGH_GUARD)


def test_too_short_a_path_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    law = sums([(10.0, 1)], lattice=False)
    monkeypatch.setattr(saddle_path, "REACH", 2.0)
    exact = laplace_sum.continuous_tail(1, 3.0)
    assert law.tails(np.array([30.0]))[0] != pytest.approx(exact, rel=1e-5)


def test_discrete_variables_taken_for_continuous_ones_are_noticed() -> None:
    wrong = sums([(3.0, 4)], lattice=True)  # the scale in place of the width
    exact = laplace_sum.tail(4, Fraction(3), 15)
    assert wrong.tails(np.array([15.5]))[0] != pytest.approx(exact, rel=1e-3)


def test_laws_are_the_same_one_by_one_and_together() -> None:
    widths = 1 + np.arange(3000.0).reshape(1000, 3) % 17
    counts = 1 + np.arange(3000.0).reshape(1000, 3) % 5
    together = Sums(widths, counts, lattice=False).quantiles(0.05)
    for row in (0, 1, 500, 999):
        alone = Sums(widths[row : row + 1], counts[row : row + 1], lattice=False)
        assert alone.quantiles(0.05)[0] == pytest.approx(together[row], rel=1e-9)


def following(rows: int, changing: FloatArray) -> Sums:
    """Laws that have 60 widths in common, and one of their own each."""
    widths = np.tile(np.geomspace(0.5, 20.0, 61), (rows, 1))
    widths[:, 7] = changing
    return Sums(widths, np.ones_like(widths), lattice=False)


def alone(laws: Sums, beta: float) -> FloatArray:
    """The quantile of each law, found by itself."""
    rows = zip(laws.widths[:, None], laws.counts[:, None], strict=True)
    return np.concatenate([Sums(*row, lattice=laws.lattice).quantiles(beta) for row in rows])


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("beta", [0.99, 0.5, 0.05, 1e-3, 1e-100])
def test_laws_that_share_a_path_have_the_same_quantiles(beta: float, lattice: bool) -> None:
    laws = replace(following(70, np.linspace(5, 9, 70)), lattice=lattice)
    assert laws.quantiles(beta) == pytest.approx(alone(laws, beta), rel=1e-8)


def shared(laws: Sums, beta: float, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many laws each of the shared paths has."""
    sizes = list[int]()
    known = saddle_path.ScaledSums.shared_path

    def path(laws: ScaledSums, *about: Any) -> saddle_path.Path:
        sizes.append(len(laws.widths))
        return known(laws, *about)

    monkeypatch.setattr(ScaledSums, "shared_path", path)
    laws.quantiles(beta)
    return sizes


def test_laws_share_a_path_while_most_of_their_widths_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laws = following(50, np.linspace(5, 9, 50))
    laws.widths[30:, :40] *= 1.1  # a new run
    assert shared(laws, 0.05, monkeypatch) == [30, 20]


def test_laws_share_no_path_if_too_few_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = following(50, np.linspace(5, 9, 50))
    laws.widths[::2, :40] *= 1.1
    assert shared(laws, 0.05, monkeypatch) == []


def test_laws_share_no_path_if_what_changes_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = following(20, np.full(20, 7.0))
    for row in range(1, 20):  # four other widths each, and in the end all
        laws.widths[row:, 3 * row : 3 * row + 4] *= 1.01
    assert shared(laws, 0.05, monkeypatch) == []
    assert laws.quantiles(0.05) == pytest.approx(alone(laws, 0.05), rel=1e-8)


def test_laws_share_no_path_that_is_far_from_the_best_one(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = following(20, np.geomspace(1, 200, 20))
    exact = alone(laws, 1e-3)
    assert shared(laws, 1e-3, monkeypatch) == []
    assert laws.quantiles(1e-3) == pytest.approx(exact, rel=1e-8)
    monkeypatch.setattr(laplace_contour, "NEAR", math.inf)
    with pytest.raises(RuntimeWarning):  # sums on the path are not even positive
        laws.quantiles(1e-3)


def test_laws_with_other_counts_share_nothing_of_them() -> None:
    laws = following(20, np.linspace(5, 9, 20))
    laws.counts[7:, 20] = 0.0
    laws.counts[13:, 21] = 3.0
    assert laws.quantiles(0.05) == pytest.approx(alone(laws, 0.05), rel=1e-8)


@pytest.mark.parametrize("counts", [(3.0, 7.0), (1.0, 1000.0)])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-100])
def test_powers_of_products_give_the_same(counts: tuple[float, float], beta: float) -> None:
    laws = following(3, np.array([5.0, 6.0, 7.0]))
    laws.counts[:, ::2], laws.counts[:, 1::2] = counts
    powers = laws.quantiles(beta)
    halves = np.concatenate([laws.widths] * 2, axis=1), np.concatenate([laws.counts] * 2, axis=1)
    assert saddle_path.few_counts(laws.counts) is not None
    assert saddle_path.few_counts(halves[1] / 2) is None  # halves are no powers
    summed = Sums(halves[0], halves[1] / 2, lattice=False)
    assert powers == pytest.approx(summed.quantiles(beta), rel=1e-9)


def test_large_powers_of_products_are_not_taken() -> None:
    assert saddle_path.few_counts(np.array([[0.0, 1001.0]])) is None
    assert saddle_path.few_counts(np.array([[1.0, 2.0], [3.0, 0.0]])) is None


def test_crossings_are_found_by_halving_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = following(5, np.linspace(1, 30, 5))
    exact = laws.quantiles(0.05)
    monkeypatch.setattr(saddle_path, "STRAIGHT", 0)
    assert laws.quantiles(0.05) == pytest.approx(exact, rel=1e-8)


def test_counts_of_zero_change_nothing() -> None:
    padded = Sums(np.array([[3.0, 3.0]]), np.array([[2.0, 0.0]]), lattice=False)
    assert padded.quantiles(0.05) == pytest.approx(sums([(3.0, 2)], lattice=False).quantiles(0.05))


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("beta", BETAS)
def test_widths_that_count_once_are_multiplied_and_give_the_same(
    beta: float, lattice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 200 widths once is the same law as each of them twice by halves."""
    widths = np.geomspace(0.05, 30.0, 200)
    single = Sums(np.append(widths, 7.0)[None], np.append(np.ones(200), 0.0)[None], lattice)
    halves = np.append(widths, widths)[None]
    summed = Sums(halves, np.full(halves.shape, 0.5), lattice)
    angles = list[int]()
    known = np.arctan2

    def arctan2(one: FloatArray, other: FloatArray) -> FloatArray:
        angles.append(one.size)
        return known(one, other)

    monkeypatch.setattr(np, "arctan2", arctan2)
    found = single.quantiles(beta)
    multiplied = sum(angles)
    angles.clear()
    assert found == pytest.approx(summed.quantiles(beta), rel=1e-11)
    assert multiplied <= saddle_path.POINTS * (201 // saddle_path.PRODUCT + 1)
    assert sum(angles) == saddle_path.POINTS * 400
