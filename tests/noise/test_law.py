"""Both laws are members of one family, and the family's arithmetic is exact."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ameles.noise.law import Law
from tests.each import together

from .laws import LAWS

parameters = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)
points = st.integers(-(10**9), 10**9)


@given(scale=parameters, k=points)
def test_the_laplace_law_falls_by_its_scale(scale: Fraction, k: int) -> None:
    assert Law.laplace(scale).exponent(k) == Fraction(abs(k)) / scale


@given(variance=parameters, k=points)
def test_the_gaussian_law_falls_by_its_variance(variance: Fraction, k: int) -> None:
    assert Law.gaussian(variance).exponent(k) == Fraction(k * k) / (2 * variance)


@given(linear=parameters, quadratic=parameters, k=st.integers(0, 10**9), y=st.integers(0, 10**9))
def test_beyond_any_point_the_law_is_the_same_family_again(
    linear: Fraction, quadratic: Fraction, k: int, y: int
) -> None:
    law = Law(linear, quadratic)
    beyond = Law(law.slope(k), quadratic)
    assert law.exponent(k + y) == law.exponent(k) + beyond.exponent(y)
    assert law.exponent(-k - y) == law.exponent(k + y)


@together("law", LAWS)
@together("level", [1, 16, 40])
def test_reach_is_the_first_point_at_its_level(law: Law, level: int) -> None:
    k = law.reach(level)
    assert k >= 1
    assert law.exponent(k) >= level
    assert k == 1 or law.exponent(k - 1) < level
