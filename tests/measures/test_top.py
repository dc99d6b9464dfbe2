"""``top``: the order, ties, and intervals that hold for the winners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.loss import Pure
from ameles.measures.measure import BETA, Published
from ameles.measures.top import Top
from ameles.noise import System
from tests.measures.asked import EVENTS, asked, largest_change, measure, problems, published, terms

FIELDS = {"k": 1, "by": {"region": ["north", "south"]}}


def test_without_noise_it_is_the_order_and_ties_are_as_declared() -> None:
    release = measure("top", k=3, by={"region": ["west", "south", "north", "it's"]})
    answer = published(release, terms(), asked(release))
    assert release.keys == ("1", "2", "3")
    assert answer.label is not None
    assert answer.label.tolist() == [
        ["north", "west", "south"],
        ["south", "north", "west"],
        ["north", "south", "west"],
    ]
    assert answer.value.tolist() == [[2, 1, 1], [3, 3, 1], [4, 3, 1]]
    assert largest_change(release, EVENTS) == release.reach == 1


def test_the_smallest_of_all_numbers_is_last() -> None:
    release = measure("top", k=2, by={"region": ["a", "b"]})
    recipe = release.recipe(terms(), Pure(1))
    outputs = np.array([[-(2**63), -5]])
    assert release.publish(recipe, terms(), outputs, 1, np.empty((0, 2))).label.tolist() == [
        ["b", "a"]
    ]


def missed(release: Top, draws: int) -> int:
    """In how many of so many runs the interval of one of the winners misses its count."""
    on, loss = terms(horizon=1), Pure("1/2")
    recipe = release.counter(on, loss)
    truth = np.arange(release.cells)
    wrong = 0
    for _ in range(draws):
        outputs = recipe.start(System.direct()).feed(truth[None])
        answer: Published = release.publish(recipe, on, outputs, 1, outputs[:0])
        assert answer.label is not None
        counts = answer.label[0].astype(int)
        wrong += bool(((counts < answer.low[0]) | (counts > answer.high[0])).any())
    return wrong


class OneByOne(Top):
    """Intervals for one key, given to the winners."""

    def at_once(self, cells: int) -> int:
        return 1


def test_the_intervals_cover_the_winners() -> None:
    # 1000 runs, false alarm 1e-6
    release = measure("top", k=5, by={"age": list(range(40))})
    assert missed(release, 1000) <= binom.isf(1e-6, 1000, BETA)
    assert missed(OneByOne(**release.model_dump()), 1000) > binom.isf(1e-6, 1000, BETA)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"k": 1}, "no keys to rank."),
        ({"k": 3, "by": {"region": ["a", "b"]}}, "3 of 2 declared keys."),
        ({"k": 0, "by": {"region": ["a", "b"]}}, "greater than or equal to 1"),
        ({"by": {"region": ["a", "b"]}}, "required"),
    ],
)
def test_bad_fields(fields: dict[str, Any], what: str) -> None:
    (sentence,) = problems("top", **fields)
    assert what in sentence
