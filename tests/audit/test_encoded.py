"""Encoded counters: certified from their real code, and broken ones caught."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Finding, Verdict, exact_loss
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import Encoding, rounded
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter, ToeplitzProcess
from ameles.noise.arrays import IntArray

KINDS: list[Any] = [ToeplitzCounter, BufferedCounter]


@pytest.mark.parametrize("horizon", [1, 2, 7, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_certified_and_known_to_a_fraction_of_a_percent(
    kind: Any, horizon: int
) -> None:
    finding = exact_loss(kind(rho="1/2", horizon=horizon))
    assert finding.verdict is Verdict.CERTIFIED
    assert Fraction("0.498") < finding.lower < finding.upper <= Fraction(1, 2)
    assert str(finding.worst) == "step 1 by 1"
    assert "columns" in finding.how


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_delta_and_a_bound_too(kind: Any) -> None:
    finding = exact_loss(kind(epsilon=1, delta="1e-6", horizon=6, bound=5))
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.upper == 1
    assert str(finding.worst) == "step 1 by 5"


@pytest.mark.parametrize("kind", KINDS)
def test_a_prefix_of_the_horizon_loses_less(kind: Any) -> None:
    whole, part = (exact_loss(kind(rho=1, horizon=8), steps=steps) for steps in (8, 3))
    assert part.verdict is Verdict.CERTIFIED
    assert part.upper < whole.lower


# Broken counters ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TooQuiet(BufferedCounter):
    """Draws a hundredth less variance than it should."""

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        right = super().encoding_with(cascade, bits)
        return replace(right, variance=right.variance * 99 / 100)


@dataclass(frozen=True, kw_only=True)
class OtherRates(BufferedCounter):
    """Filters with the rates of another horizon than it is calibrated for."""

    def process(self, noise: Any, state: IntArray | None) -> Any:
        other = BufferedCounter(rho=self.rho, horizon=4 * self.horizon)
        inner: Any = other.process(noise, state)
        inner._variance = self.encoding.variance
        return inner


@dataclass(frozen=True, kw_only=True)
class NothingForRoundings(ToeplitzCounter):
    """Forgets what roundings add."""

    @property
    def allowance(self) -> Fraction:
        return Fraction(0)


class _Late(ToeplitzProcess):
    def take(self, n: int) -> IntArray:
        return rounded(self.encode(n), self._encoding.bits) + 1


class _Uneven(ToeplitzProcess):
    def encode(self, n: int) -> IntArray:
        first = self._t
        encoded = super().encode(n)
        encoded[max(0, 2 - first) :] += 3 * self._noises[0]
        return encoded


class _Nonlinear(ToeplitzProcess):
    def encode(self, n: int) -> IntArray:
        encoded = super().encode(n)
        encoded[1:] += np.abs(encoded[:-1]) // 2
        return encoded


def running(process: type[ToeplitzProcess]) -> ToeplitzCounter:
    """A counter whose noise is this."""

    @dataclass(frozen=True, kw_only=True)
    class Broken(ToeplitzCounter):
        def process(self, noise: Any, state: IntArray | None) -> Any:
            return process(self, noise, state)

    return Broken(rho=1, horizon=6)


def test_too_little_noise_is_refuted() -> None:
    finding = exact_loss(TooQuiet(rho=1, horizon=8))
    assert finding.verdict is Verdict.REFUTED
    assert finding.lower > 1


def test_another_filter_than_the_noise_is_for_is_not_certified() -> None:
    finding: Finding = exact_loss(OtherRates(rho=1, horizon=8))
    assert finding.verdict is not Verdict.CERTIFIED


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (NothingForRoundings(rho=1, horizon=16), "more than it allows for"),
        (running(_Late), "not those of the encoded values"),
        (running(_Uneven), "changes with the steps"),
        (running(_Nonlinear), "more than it allows for"),
    ],
)
def test_what_is_no_such_filter_is_not_certified(recipe: ToeplitzCounter, why: str) -> None:
    finding = exact_loss(recipe)
    assert finding.verdict is Verdict.NOT_LINEAR
    assert why in finding.how


def test_the_mother_of_the_broken_ones_is_certified() -> None:
    assert exact_loss(running(ToeplitzProcess)).verdict is Verdict.CERTIFIED
