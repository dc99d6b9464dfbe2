"""An estimate of a fraction, and that of all the others."""

from __future__ import annotations

from ameles.mechanisms.pan_private.estimate import Estimate


def test_the_complement_is_the_same_of_the_others() -> None:
    some = Estimate(value=0.25, standard_error=0.0625, low=0.125, high=0.5, confidence=0.9)
    others = some.complement
    assert (others.value, others.low, others.high) == (0.75, 0.5, 0.875)
    assert (others.standard_error, others.confidence) == (0.0625, 0.9)
    assert others.complement == some
