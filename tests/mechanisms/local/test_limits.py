"""The limits of the local model: the last input that is taken, and the first that is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.local import (
    CentralQueries,
    HadamardResponse,
    LocalQueries,
    ParityLearner,
    RandomizedResponse,
    Server,
    UnaryEncoding,
    learn_conjunction,
)
from ameles.mechanisms.local.device.questions import Question
from ameles.noise import Zero
from tests.odd_values import ODD, name_of


def test_arrays_of_values_are_whole_numbers_in_one_row() -> None:
    run = RandomizedResponse(categories=3, odds=3).start(Zero())
    arrays: list[Any] = [np.array([1.0]), np.ones((2, 1), dtype=int)]
    for values in (*arrays, np.array(1), np.array(["1"])):
        with pytest.raises(BadInput, match="must be whole numbers"):
            run.feed(values)
    assert run.t == 0
    assert run.feed(np.array([1, 2], dtype=np.uint8)).tolist() == [1, 2]


def test_a_tolerance_is_within_the_tolerance() -> None:
    examples = [((0,), 1), ((1,), 1)]  # the bit is zero in half of the positives
    for alpha, learned in ((1.0, (0,)), (0.99, ())):
        oracle = CentralQueries(examples, epsilon=1, queries=1, noise=Zero())
        assert learn_conjunction(oracle, bits=1, alpha=alpha) == learned


def test_no_reports_have_no_error() -> None:
    error = RandomizedResponse(categories=3, odds=3).error
    assert error.bounds(np.array([0, 1]), 0.05).tolist() == [0.0, error.bound(1, 0.05)]


def test_a_server_without_reports_estimates_nothing() -> None:
    for kind in (RandomizedResponse, UnaryEncoding, HadamardResponse):
        found = Server(kind(categories=5, odds=3), question="flu").estimate()
        assert (found.reports, found.counts.tolist()) == (0, [0.0] * 5)


def test_a_report_that_is_too_long_is_refused() -> None:
    server = Server(RandomizedResponse(categories=2, odds=3), question="flu")
    report = {
        "ameles": "report",
        "version": 1,
        "question": "flu",
        "randomizer": Question.read(server.question).fingerprint,
        "nonce": "0" * 32,
        "report": 1,
    }
    text = json.dumps(report)
    assert server.take(text + " " * (1002 - len(text))) == "refused"
    assert server.take(text + " " * (1001 - len(text))) == "accepted"


def test_examples_of_parities_are_rows_of_bits() -> None:
    run = ParityLearner(bits=2, examples=2, odds=3).start(Zero())
    wrong: list[Any] = [
        [(1, 0, 1)],
        np.ones((2, 2), dtype=int),
        np.ones((2, 3)),
        "101010",
    ]
    for rows in wrong:
        with pytest.raises(BadInput, match="must be 2 rows of 3 bits"):
            run.step(rows)
    assert run.t == 0


@pytest.mark.parametrize("odd", ODD, ids=name_of)
def test_an_example_that_a_query_cannot_grade_counts_as_zero(odd: Any) -> None:
    def age(one: Any) -> int:
        return 1 // one if isinstance(one, int) else one

    central = CentralQueries([1, odd, 0, 1], epsilon=1, queries=1, noise=Zero())
    assert central(age) == 0.5
    local = LocalQueries([1, odd, 0, 1], epsilon=1, group=4, noise=Zero())
    zeros = LocalQueries([1, 0, 0, 1], epsilon=1, group=4, noise=Zero())
    assert local(age) == zeros(lambda one: one)
