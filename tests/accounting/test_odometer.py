from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.accounting.concentrated import zcdp_epsilon
from ameles.accounting.odometer import Odometer
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure

amounts = st.integers(0, 200).map(lambda n: Fraction(n, 100))


@given(st.lists(amounts, max_size=8))
def test_pure_readings_are_the_running_sum(epsilons: list[Fraction]) -> None:
    odometer = Odometer()
    for i, epsilon in enumerate(epsilons):
        odometer.spend(Pure(epsilon))
        assert odometer.reading == odometer.total == Pure(sum(epsilons[: i + 1], Fraction(0)))


def test_approximate_readings_are_the_running_sums() -> None:
    odometer = Odometer()
    odometer.spend(Pure(1))
    odometer.spend(Approx("0.5", "1e-6"))
    assert odometer.reading == Approx("1.5", "1e-6")


@settings(max_examples=30)
@given(st.lists(amounts, min_size=1, max_size=8))
def test_zcdp_readings_increase_and_are_above_the_plain_conversion(rhos: list[Fraction]) -> None:
    odometer = Odometer(delta="1e-6")
    last = Fraction(0)
    for i, rho in enumerate(rhos):
        odometer.spend(Concentrated(rho))
        total = sum(rhos[: i + 1], Fraction(0))
        reading = odometer.reading
        assert odometer.total == Concentrated(total)
        assert reading.epsilon >= last
        assert reading.epsilon >= zcdp_epsilon(rho=total, delta="1e-6")
        last = reading.epsilon


def test_a_reading_costs_less_than_half_more_than_hindsight() -> None:
    for rho in ("0.001", "0.01", "0.1", "1", "10"):
        odometer = Odometer(delta="1e-6")
        odometer.spend(Concentrated(rho))
        reading = odometer.reading
        assert isinstance(reading, Approx)
        assert reading.delta == Fraction(1, 10**6)
        assert reading.epsilon <= zcdp_epsilon(rho=rho, delta="1e-6") * Fraction(3, 2)


def test_the_deltas_of_the_caps_sum_to_delta() -> None:
    shares = [Fraction(1, (j + 1) * (j + 2)) for j in range(1000)]
    assert sum(shares) == 1 - Fraction(1, 1001)  # telescoping: never above 1


def leak_of_the_best_stop(reading: Callable[[int], float], epsilon: float, steps: int) -> float:
    """The largest E[(1 - exp(reading - loss))_+] over all rules of when to stop.

    The losses are those of ``steps`` randomized responses, a walk of +-epsilon; the best
    rule is found backwards from the end.  A valid odometer keeps this at delta or below.
    """
    up = math.exp(epsilon) / (1 + math.exp(epsilon))
    value = [0.0] * (steps + 1)
    for t in range(steps, 0, -1):
        stop = [
            max(0.0, -math.expm1(min(0.0, reading(t) - (2 * right - t) * epsilon)))
            for right in range(t + 1)
        ]
        if t < steps:
            go_on = [up * value[r + 1] + (1 - up) * value[r] for r in range(t + 1)]
            value = [max(pair) for pair in zip(stop, go_on, strict=True)]
        else:
            value = stop
    return up * value[1] + (1 - up) * value[0]


def test_no_stopping_rule_beats_the_reading_but_one_beats_the_plain_conversion() -> None:
    # Every look at the plain conversion is one more chance to stop where it is exceeded;
    # a generous delta and 600 looks make the chances add up to more than delta.
    epsilon, steps, delta = Fraction(1, 5), 600, Fraction(1, 5)
    rho = epsilon**2 / 2
    readings, naive = [0.0], [0.0]
    odometer = Odometer(delta=delta)
    for t in range(1, steps + 1):
        odometer.spend(Concentrated(rho))
        readings.append(float(odometer.reading.epsilon))
        naive.append(float(zcdp_epsilon(rho=t * rho, delta=delta)))
    assert leak_of_the_best_stop(readings.__getitem__, float(epsilon), steps) <= delta
    assert leak_of_the_best_stop(naive.__getitem__, float(epsilon), steps) > delta  # planted


def test_currencies_may_change_on_the_way() -> None:
    odometer = Odometer(delta="1e-6")
    odometer.spend(Pure(1))
    odometer.spend(Concentrated("0.5"))
    assert odometer.total == Concentrated(1)
    with pytest.raises(BadInput, match="one total"):
        odometer.spend(Approx(1, "1e-6"))
    assert odometer.total == Concentrated(1)


def test_zero_rho_reads_zero() -> None:
    odometer = Odometer(delta="1e-6")
    odometer.spend(Concentrated(0))
    assert odometer.reading == Pure(0)


def test_refusals() -> None:
    odometer = Odometer()
    odometer.spend(Concentrated(1))
    with pytest.raises(BadInput, match="needs a delta"):
        _ = odometer.reading
    with pytest.raises(BadInput, match="'growth'"):
        Odometer(growth=1)
    with pytest.raises(BadInput, match="'first'"):
        Odometer(first=0)
    with pytest.raises(BadInput, match="'delta'"):
        Odometer(delta=0)
    assert repr(odometer) == "Odometer(total=Concentrated(rho=Fraction(1, 1)), delta=None)"
