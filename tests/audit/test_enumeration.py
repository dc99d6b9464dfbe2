"""Enumeration agrees with the exact audit, and sees what is not linear."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ameles.audit import Verdict, enumerated_loss, exact_loss, wrapped_run
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.binary import BinaryCounter
from tests.audit.mutants import CeilingOfTheLogarithm, ReusesNoise


def test_the_binary_counter_by_brute_force() -> None:
    # epsilon 2 makes the scale 2 / 2 whole; the bound 2^2 is approached, never passed
    right = BinaryCounter(epsilon=2, horizon=2)
    programs = [wrapped_run(right, xs, modulus=9) for xs in ([0, 0], [1, 0])]
    finding = enumerated_loss(*programs, epsilon=2, modulus=9)
    assert finding.verdict is Verdict.CERTIFIED
    assert 1.9 < finding.loss <= 2


def test_the_level_count_of_the_source_text_by_brute_force() -> None:
    wrong = CeilingOfTheLogarithm(epsilon=1, horizon=2)
    programs = [wrapped_run(wrong, xs, modulus=9) for xs in ([0, 0], [1, 0])]
    finding = enumerated_loss(*programs, epsilon=1, modulus=9)
    assert finding.verdict is Verdict.REFUTED
    exact = exact_loss(wrong).exact
    assert exact == 2
    assert finding.loss == pytest.approx(float(exact), abs=0.05)
    assert "refuted" in str(finding)


def test_an_outcome_that_only_one_can_give() -> None:
    reused = ReusesNoise(epsilon=2, horizon=2)
    programs = [wrapped_run(reused, xs, modulus=5) for xs in ([0, 0], [0, 1])]
    finding = enumerated_loss(*programs, epsilon=100, modulus=5)
    assert (finding.ratio, finding.loss, finding.verdict) == (math.inf, math.inf, Verdict.REFUTED)
    assert "infinite" in str(finding)


def response(noise: Noise, answer: bool, p: Fraction) -> bool:
    return bool(noise.bernoulli(p, 1)[0]) == answer


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [("1", Verdict.REFUTED), ("1.58", Verdict.REFUTED), ("1.59", Verdict.CERTIFIED)],
)
def test_randomized_response_has_log2_of_three(epsilon: str, verdict: Verdict) -> None:
    keep = Fraction(3, 4)
    finding = enumerated_loss(
        lambda noise: response(noise, True, keep),
        lambda noise: response(noise, False, keep),
        epsilon=epsilon,
        modulus=3,
    )
    assert finding.ratio == 3
    assert finding.verdict is verdict


def test_above_threshold_with_one_noise_for_all_queries() -> None:
    # what is not linear: whether noisy values pass a threshold, each with its own noise
    def passes(noise: Noise, values: tuple[int, int]) -> tuple[bool, ...]:
        drawn = noise.laplace(Fraction(1, 2), 2)
        return tuple(bool(v + z > 0) for v, z in zip(values, drawn.tolist(), strict=True))

    finding = enumerated_loss(
        lambda noise: passes(noise, (0, 0)),
        lambda noise: passes(noise, (1, 1)),
        epsilon=2,
        modulus=7,
    )
    assert finding.verdict is Verdict.REFUTED
    # a comparison is no function of wrapped noise, so the wrap shows a little
    assert finding.loss == pytest.approx(4, abs=0.001)


def test_negative_claims_are_refused() -> None:
    with pytest.raises(BadInput, match="zero or more"):
        enumerated_loss(lambda noise: 0, lambda noise: 0, epsilon=-1, modulus=3)
