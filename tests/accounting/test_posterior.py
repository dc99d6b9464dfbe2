"""Beliefs after a publication: formulas with known answers, and mechanisms that come close."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.posterior import odds_gained, posteriors
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure

from .oracle import decimal, many_digits, outward

HALF = Fraction(1, 2)
epsilons = st.fractions(min_value=0, max_value=20, max_denominator=1000)
priors = st.fractions(min_value=Fraction(1, 10**6), max_value=1 - Fraction(1, 10**6))


@given(epsilons, priors)
def test_a_pure_loss_has_the_known_formula_rounded_up(epsilon: Fraction, prior: Fraction) -> None:
    gained = odds_gained(Pure(epsilon))
    assert gained == epsilon
    (most,) = posteriors([prior], gained=gained)
    with many_digits():
        grown = decimal(prior) * decimal(epsilon).exp()
        truth = grown / (1 - decimal(prior) + grown)
    assert outward(most, truth, "up")


def test_a_coin_that_tells_the_truth_attains_it() -> None:
    """Randomized response with epsilon ln 3: a heads turns even odds into three to one."""
    (most,) = posteriors([HALF], gained=Fraction(math.log(3)))
    assert most == pytest.approx(3 / 4, abs=1e-12)


@pytest.mark.parametrize("prior", [Fraction(0), Fraction(1)])
def test_who_is_certain_stays_certain(prior: Fraction) -> None:
    for gained in (Fraction(0), Fraction(1000), None):
        assert posteriors([prior], gained=gained) == (prior,)


def test_nothing_lost_is_nothing_learned() -> None:
    for loss in (Pure(0), Approx(0, 0), Concentrated(0)):
        (most,) = posteriors([HALF], gained=odds_gained(loss))
        assert HALF <= most < HALF + Fraction(1, 10**14), "rounded up, and nothing else"


@given(
    epsilons, st.sampled_from(["1e-9", "1e-6", "1e-3"]), st.fractions(min_value=2, max_value=999)
)
def test_a_loss_with_delta_is_exceeded_as_often_as_its_worst_mechanism_does_it(
    epsilon: Fraction, delta: str, more: Fraction
) -> None:
    """Its outputs: one that has probability ``chance`` under P, and exp(-t) of that under Q.

    Then P - exp(epsilon) Q is chance (1 - exp(epsilon - t)) there, which must be delta; any t below
    the bound would need more than delta.
    """
    allowed = Fraction(delta)
    chance = allowed * more
    gained = odds_gained(Approx(epsilon, allowed), chance=min(chance, Fraction(999, 1000)))
    assert gained is not None
    left = float(min(chance, Fraction(999, 1000))) * -math.expm1(float(epsilon - gained))
    assert left == pytest.approx(float(allowed), rel=1e-9)
    assert gained > epsilon


def exceeded_by_gaussian_noise(rho: float, above: float) -> float:
    """How often the log-ratio of N(1, s²) to N(0, s²) is above a bound, by numeric integration."""
    s = 1 / math.sqrt(2 * rho)
    first = above * s * s + 0.5  # where the log-ratio (2x - 1) / (2 s²) reaches it
    width = 40 * s / 20_000
    points = (first + (i + 0.5) * width for i in range(20_000))
    density = sum(math.exp(-((x - 1) ** 2) / (2 * s * s)) for x in points)
    return density * width / (s * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("rho", ["0.001", "0.1", "0.5", "3"])
@pytest.mark.parametrize("chance", ["1e-2", "1e-3", "1e-6", "1e-9"])
def test_gaussian_noise_stays_below_the_bound_of_zcdp_and_comes_close(
    rho: str, chance: str
) -> None:
    gained = odds_gained(Concentrated(rho), chance=chance)
    assert gained is not None
    often = exceeded_by_gaussian_noise(float(rho), float(gained))
    assert often <= float(chance)
    # the bound of Chernoff leaves out a factor of about sqrt(4 pi ln(1/chance))
    assert often >= float(chance) / (2.5 * math.sqrt(4 * math.pi * math.log(1 / float(chance))))
    less = float(gained) * 0.7
    assert exceeded_by_gaussian_noise(float(rho), less) > float(chance), "it has room to be wrong"


@pytest.mark.parametrize(
    ("loss", "chance"),
    [(Approx(1, "1e-3"), 0), (Approx(1, "1e-3"), "1e-3"), (Concentrated(1), 0)],
)
def test_where_nothing_is_promised_everything_is_possible(loss: Loss, chance: str | int) -> None:
    assert odds_gained(loss, chance=chance) is None
    assert posteriors([HALF], gained=None) == (Fraction(1),)


@pytest.mark.parametrize("chance", [1, -1, "1.5"])
def test_a_chance_is_a_probability(chance: str | int) -> None:
    with pytest.raises(BadInput, match="chance"):
        odds_gained(Pure(1), chance=chance)


@pytest.mark.parametrize("prior", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_prior_is_a_probability(prior: Fraction) -> None:
    with pytest.raises(BadInput, match="prior"):
        posteriors([prior], gained=Fraction(1))
