"""Whole numbers as inputs: what counts as one, and that nothing of the value is told."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.stepped import integer

CANARY = 8_675_309


@pytest.mark.parametrize(
    "given", [CANARY, np.int64(CANARY), np.uint32(CANARY), np.array(CANARY), -CANARY, 2**80]
)
def test_whole_numbers_of_every_kind_and_size(given: Any) -> None:
    number = integer(given, "count")
    assert type(number) is int
    assert number == int(given)


@pytest.mark.parametrize(
    "bad",
    [
        float(CANARY),
        np.float64(CANARY),
        str(CANARY),
        Decimal(CANARY),
        Fraction(CANARY),
        complex(CANARY),
        np.array([CANARY, CANARY]),
        np.array(float(CANARY)),
        [CANARY],
        True,
        np.True_,
        None,
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_everything_else_is_refused_by_its_type_alone(bad: Any) -> None:
    with pytest.raises(BadInput, match="A count must be a whole number") as caught:
        integer(bad, "count")
    assert type(bad).__name__ in caught.value.what
    assert str(CANARY) not in str(caught.value)
