"""An estimate of a fraction, and that of all the others."""

from __future__ import annotations

import pytest

from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.modular import ResidueFraction


def test_the_complement_is_the_same_of_the_others() -> None:
    some = Estimate(value=0.25, standard_error=0.0625, low=0.125, high=0.5, confidence=0.9)
    others = some.complement
    assert (others.value, others.low, others.high) == (0.75, 0.5, 0.875)
    assert (others.standard_error, others.confidence) == (0.0625, 0.9)
    assert others.complement == some


@pytest.mark.parametrize(("beta", "bound"), [(0.05, 0.308229786), (1e-3, 0.510136939)])
def test_a_thousandth_of_beta_is_left_to_sums_that_are_very_far_off(
    beta: float, bound: float
) -> None:
    """A tenth more of it moves the bound by 2e-5 or 8e-6 of its size."""
    recipe = ResidueFraction(
        modulus=5,
        residues=(1, 3),
        users=911,
        neighbours="user-presence",
        epsilon_state="1/2",
        epsilon_output="1/3",
        releases=5,
    )
    assert recipe.error.bound(1, beta) == pytest.approx(bound, rel=1e-7)
