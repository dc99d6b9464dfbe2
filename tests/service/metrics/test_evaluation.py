"""Series with a label that is published with their numbers: only what was published is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.service.metrics import listings
from ameles.service.metrics.evaluation import Chosen, at_steps
from ameles.service.metrics.families import IN_STATE, STATE
from ameles.service.metrics.selectors import Matcher
from ameles.service.metrics.series_labels import Group

WORDS = np.array([[""], ["full"], ["waiting"], [""]], dtype=object)
GROUP = Group("s", "visitors", "distinct", ({"stream": "s", "release": "visitors"},))


class Words:
    """Only labels, one for each of four steps."""

    def __init__(self) -> None:
        self.read: list[list[int]] = []

    def table(
        self, name: str, release: str, column: str, steps: Sequence[int], keys: tuple[int, int]
    ) -> NDArray[Any]:
        self.read.append(list(steps))
        return WORDS[[step - 1 for step in steps]]


def chosen(*later: Matcher) -> Chosen:
    return Chosen(IN_STATE, GROUP, (0,), STATE, later)


def test_a_step_without_a_label_has_no_series() -> None:
    seen: Any = Words()
    lines = list(at_steps(seen, [chosen()], {"s": np.array([1, 2, 3, 4])}))
    assert [line.labels["state"] for line in lines] == ["full", "waiting"]
    numbers = [np.flatnonzero(line.numbers == 1).tolist() for line in lines]
    assert numbers == [[1], [2]]


def test_listings_have_the_labels_that_match_of_the_last_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: Any = Words()

    def states(one: Chosen, first: int = 1) -> list[str]:
        return sorted(labels["state"] for labels in listings._labels(seen, one, first, 4))

    assert states(chosen()) == ["full", "waiting"]
    assert states(chosen(Matcher(STATE, "!=", "full"))) == ["waiting"]
    for most, steps in ((2, [3, 4]), (0, [4])):
        monkeypatch.setattr(listings, "MOST_WORDS", most)
        states(chosen())
        assert seen.read[-1] == steps, "at least the last one"
