from __future__ import annotations

import math

import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from ameles.accounting.continuous_gaussian import (
    ASYMPTOTIC,
    _scaled_tail,
    analytic_gaussian_delta,
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
)
from ameles.core.exceptions import BadInput

TABLE = [
    ("0.1", 30.7496, 48.448),
    ("0.5", 7.0318, 9.690),
    ("1", 3.7306, 4.845),
    ("2", 1.9938, 2.422),
    ("10", 0.4999, 0.4845),
]


@pytest.mark.parametrize(("epsilon", "analytic", "classical"), TABLE)
def test_catalogue_38_table(epsilon: str, analytic: float, classical: float) -> None:
    assert analytic_gaussian_sigma(epsilon=epsilon, delta="1e-5") == pytest.approx(
        analytic, abs=5.1e-5
    )
    assert classical_gaussian_sigma(epsilon=epsilon, delta="1e-5") == pytest.approx(
        classical, abs=5.1e-4
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 8.0, 30.0])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.2, 100.0])
def test_delta_is_the_printed_formula(epsilon: float, sigma: float) -> None:
    near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    truth = float(ndtr(near)) - math.exp(epsilon + float(log_ndtr(far)))
    delta = analytic_gaussian_delta(epsilon=epsilon, sigma=sigma)
    assert delta == pytest.approx(truth, rel=1e-6, abs=1e-15)


def test_delta_is_the_hockey_stick_of_two_densities() -> None:
    epsilon, sigma = 1.0, 1.5

    def surplus(x: float) -> float:
        gain, cost = (math.exp(-((x + move) ** 2) / (2 * sigma**2)) for move in (0, 1))
        return max(0.0, gain - math.exp(epsilon) * cost) / (sigma * math.sqrt(2 * math.pi))

    area, _ = quad(surplus, epsilon * sigma**2 - 0.5, 30, epsabs=1e-12)
    assert analytic_gaussian_delta(epsilon=epsilon, sigma=sigma) == pytest.approx(area, rel=1e-8)


def test_sensitivity_scales_sigma() -> None:
    one = analytic_gaussian_sigma(epsilon=1, delta="1e-6")
    assert analytic_gaussian_sigma(epsilon=1, delta="1e-6", sensitivity=7) == pytest.approx(7 * one)
    assert analytic_gaussian_delta(epsilon=1, sigma=14, sensitivity=7) == pytest.approx(
        analytic_gaussian_delta(epsilon=1, sigma=2)
    )


def test_extremes_do_not_overflow() -> None:
    assert analytic_gaussian_delta(epsilon=1000, sigma=100) == 0
    assert analytic_gaussian_delta(epsilon=1000, sigma="1e-9") == pytest.approx(1)
    sigma = analytic_gaussian_sigma(epsilon=1000, delta="1e-9")
    assert analytic_gaussian_delta(epsilon=1000, sigma=sigma) == pytest.approx(1e-9, rel=1e-6)


def violated(epsilon: float, delta: float) -> bool:
    """Whether the classical sigma leaks more than it promises."""
    sigma = classical_gaussian_sigma(epsilon=epsilon, delta=delta)
    return analytic_gaussian_delta(epsilon=epsilon, sigma=sigma) > delta


@pytest.mark.parametrize(("delta", "onset"), [(1e-5, 8.42), (0.01, 6.78), (1e-9, 9.63)])
def test_catalogue_38_erratum_the_classical_formula_fails_from(delta: float, onset: float) -> None:
    assert not violated(onset - 0.01, delta)
    assert violated(onset + 0.01, delta)


@pytest.mark.parametrize(("epsilon", "exact"), [(10, "2.27e-05"), (20, "1.5e-03")])
def test_catalogue_38_erratum_by_how_much(epsilon: int, exact: str) -> None:
    sigma = classical_gaussian_sigma(epsilon=epsilon, delta="1e-5")
    delta = analytic_gaussian_delta(epsilon=epsilon, sigma=sigma)
    digits = len(exact.split("e")[0]) - 2
    assert f"{delta:.{digits}e}" == exact


def test_catalogue_38_no_violation_for_epsilon_up_to_one() -> None:
    # 40 x 120: epsilon in fortieths, delta from 1e-12 to 0.9 on a logarithmic scale.
    epsilons = [(i + 1) / 40 for i in range(40)]
    deltas = [0.9 * 10 ** (-12 * j / 119) for j in range(120)]
    assert not [pair for pair in ((e, d) for e in epsilons for d in deltas) if violated(*pair)]


def test_catalogue_38_erratum_a_step_of_the_proof() -> None:
    def left(c: float, epsilon: float) -> float:
        return c * c - epsilon + epsilon**2 / (4 * c * c)

    assert round(left(3, 1), 3) == 8.028
    assert round(9 - 8 / 9, 3) == 8.111
    assert left(3, 1) < 9 - 8 / 9
    # The repair keeps ln(c - 1/(2c)), which is large enough at c = 3/2 and increases.
    needed = math.log(math.sqrt(2 / math.pi) / 1.25) + 0.5
    assert round(needed, 4) == 0.0511
    kept = [math.log(c - 1 / (2 * c)) for c in (1.5, 2.0, 3.0, 6.0)]
    assert round(kept[0], 3) == 0.154
    assert kept == sorted(kept)
    assert kept[0] >= needed
    # c >= 3/2 where c² = 2 ln(1.25/delta)
    assert round(1.25 * math.exp(-(1.5**2) / 2), 3) == 0.406


@pytest.mark.parametrize("t", [0.2, 1.0, 3.0, 8.0])
def test_catalogue_38_erratum_the_tail_needs_one_over_t(t: float) -> None:
    sigma = 1.7
    tail = float(ndtr(-t / sigma))
    density = sigma / math.sqrt(2 * math.pi) * math.exp(-(t**2) / (2 * sigma**2))
    assert tail <= density / t
    if t > 1:
        assert density / t < density  # the printed form is weaker, and wrong in its units


def test_catalogue_38_erratum_a_deviation_read_as_a_variance() -> None:
    deviation = math.sqrt(classical_gaussian_sigma(epsilon="0.5", delta="1e-5"))
    assert round(deviation, 3) == 3.113
    leak = analytic_gaussian_delta(epsilon="0.5", sigma=deviation)
    assert round(leak, 4) == 0.0105
    assert analytic_gaussian_delta(epsilon="1.21", sigma=deviation) > 1e-5
    assert analytic_gaussian_delta(epsilon="1.23", sigma=deviation) < 1e-5


def test_refusals() -> None:
    with pytest.raises(BadInput, match="'sigma'"):
        analytic_gaussian_delta(epsilon=1, sigma=0)
    with pytest.raises(BadInput, match="'delta'"):
        analytic_gaussian_sigma(epsilon=1, delta=0)
    with pytest.raises(BadInput, match="'epsilon'"):
        classical_gaussian_sigma(epsilon=0, delta="1e-5")


def test_the_series_of_the_tail_begins_where_the_formula_ends() -> None:
    formula = math.exp(ASYMPTOTIC**2) * math.erfc(ASYMPTOTIC)
    assert _scaled_tail(ASYMPTOTIC) == pytest.approx(formula, rel=1e-12)
    # x sqrt(pi) times it is 1 - 1/(2 x²) + ...
    far = _scaled_tail(1000.0) * 1000.0 * math.sqrt(math.pi)
    assert far == pytest.approx(1 - 1 / 2e6, rel=1e-11)
