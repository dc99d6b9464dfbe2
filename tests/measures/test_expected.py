"""A recipe of another kind than the measure's own is refused."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import BadInput
from ameles.measures.expected import counter_of, expected
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter

COUNTER = SimpleTwoCounter(epsilon=1)
MONITORS = WindowMonitors(epsilon=1, width=1, window=2, threshold=5, aboves=1)


def test_the_right_kind_comes_back_as_it_is() -> None:
    assert counter_of(COUNTER) is COUNTER
    assert expected(MONITORS, WindowMonitors) is MONITORS


def test_another_kind_is_refused_by_its_names() -> None:
    with pytest.raises(BadInput, match=r"needs a CounterRecipe\. Got a WindowMonitors"):
        counter_of(MONITORS)
    with pytest.raises(BadInput, match=r"needs a WindowMonitors\. Got a SimpleTwoCounter"):
        expected(COUNTER, WindowMonitors)
