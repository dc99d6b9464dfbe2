"""What is impossible is refused, with its theorem and its number."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.continual.limits import (
    check_intrusions,
    refuse_continual_modular,
    refuse_second_intrusion,
)


def test_continual_modular_incidence() -> None:
    with pytest.raises(BadInput, match="user level") as caught:
        refuse_continual_modular(users=1000, steps=1444, modulus=2, epsilon=1)
    assert "Thm 5.3" in caught.value.why
    assert "wrong by 0.5 of all users" in caught.value.why


def test_a_second_intrusion() -> None:
    with pytest.raises(BadInput, match="twice") as caught:
        refuse_second_intrusion(epsilon=1, steps=10**4)
    assert "Fig 12.2" in caught.value.why
    assert "Thm 4.3" in caught.value.why
    assert "more than 49.5" in caught.value.why


@pytest.mark.parametrize("allowed", Intrusions)
@pytest.mark.parametrize("asked", Intrusions)
def test_fewer_intrusions_are_covered_and_more_refused(
    allowed: Intrusions, asked: Intrusions
) -> None:
    order = list(Intrusions)
    if order.index(asked) <= order.index(allowed):
        check_intrusions(allowed, asked, epsilon=1, steps=100)
        return
    with pytest.raises(BadInput):
        check_intrusions(allowed, asked, epsilon=1, steps=100)
