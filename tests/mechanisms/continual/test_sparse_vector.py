"""Sparse vector as a run: what it says, how it halts, what it costs, how far it errs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput, HorizonReached, StoreRefused
from ameles.core.guarantee import USER, Neighbours
from ameles.core.loss import Pure
from ameles.core.recipe import recipe_from_json
from ameles.mechanisms.continual.noisy_threshold import Reply, Said
from ameles.mechanisms.continual.sparse_vector import SparseVector, above_threshold
from ameles.noise import System, Tape, Zero
from tests.pooled_noise import Pooled

CANARY = 8_675_309


def vector(**parameters: Any) -> SparseVector:
    return above_threshold(**{"epsilon": 1, "aboves": 2, "neighbours": "add-remove", **parameters})


def test_without_noise_it_tells_the_truth_and_halts_for_ever() -> None:
    run = vector(threshold=5).start(Zero())
    said = [reply.said for reply in run.feed([4, 5, 3, 6, 9, 0, 7])]
    assert said == [
        Said.BELOW,
        Said.ABOVE,
        Said.BELOW,
        Said.ABOVE,
        Said.HALTED,
        Said.HALTED,
        Said.HALTED,
    ]
    assert run.halted


def test_after_the_halt_nothing_is_drawn_and_the_threshold_is_gone() -> None:
    tape = Tape([7, 100, 100])
    recipe = vector()
    run = recipe.start(tape)
    run.feed([0, 0])
    drawn = len(tape.draws)
    before = run.snapshot()
    assert run.feed([CANARY] * 3) == [Reply(Said.HALTED)] * 3
    assert len(tape.draws) == drawn == 3
    assert before[80:-32] == run.snapshot()[80:-32]  # but for the step, nothing changed
    assert run._parts()[0].tolist() == [0, 2]


def test_the_draws_are_those_of_the_theorem() -> None:
    recipe = SparseVector(
        threshold_epsilon=1,
        query_epsilon=2,
        answer_epsilon="1/2",
        aboves=3,
        sensitivity=5,
        neighbours=Neighbours.REPLACE,
    )
    tape = Tape([2, -3, 9, 4])
    run = recipe.start(tape)
    # -3 is below 2, 9 is not; the answer has noise of its own, not the compared one
    assert run.feed([0, 0]) == [Reply(Said.BELOW), Reply(Said.ABOVE, 4)]
    assert [draw.scale for draw in tape.draws] == [5, 15, 15, 30]
    assert recipe.guarantee.loss == Pure("3.5")


def test_equal_is_above() -> None:
    assert vector(threshold=3).start(Tape([2, 2])).step(3).said is Said.ABOVE
    assert vector(threshold=3).start(Tape([2, 1])).step(3).said is Said.BELOW


def test_monotone_queries_need_half_the_noise() -> None:
    plain = SparseVector(
        threshold_epsilon=1, query_epsilon=1, aboves=4, neighbours=Neighbours.ADD_REMOVE
    )
    assert plain.query_scale == 8
    monotone = SparseVector(
        threshold_epsilon=1,
        query_epsilon=1,
        aboves=4,
        monotone=True,
        neighbours=Neighbours.ADD_REMOVE,
    )
    assert monotone.query_scale == 4
    for relation in (Neighbours.REPLACE, Neighbours.STEP, Neighbours.USER_SUBSTITUTION):
        with pytest.raises(BadInput, match="monotone"):
            vector(monotone=True, neighbours=relation)


@pytest.mark.parametrize("aboves", [1, 5, 100])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_split_is_the_best(aboves: int, monotone: bool) -> None:
    recipe = vector(aboves=aboves, monotone=monotone, epsilon="0.3", answering="1/4")
    assert recipe.guarantee.loss == Pure("0.3")
    assert recipe.answer_epsilon == Fraction("0.075")
    ratio = float(recipe.query_epsilon / recipe.threshold_epsilon)
    assert ratio == pytest.approx((aboves if monotone else 2 * aboves) ** (2 / 3), abs=1e-3)

    def variance(share: Fraction) -> float:
        ways = 1 if monotone else 2
        first, second = share * Fraction("0.225"), (1 - share) * Fraction("0.225")
        return float(1 / first**2 + (ways * aboves / second) ** 2)

    share = recipe.threshold_epsilon / Fraction("0.225")
    assert variance(share) <= min(variance(share * f) for f in (Fraction(9, 10), Fraction(11, 10)))


def test_the_guarantee_is_complete() -> None:
    recipe = vector(unit=USER, horizon=100, sensitivity=7, neighbours="user-presence")
    assert str(recipe.guarantee) == (
        "epsilon 1 for one user: present or absent, changing up to 100 steps by at most 7 (L1), "
        "over 100 steps"
    )


@pytest.mark.parametrize("answering", [0, "1/2"])
def test_resuming_equals_going_on(answering: object) -> None:
    recipe = vector(aboves=3, answering=answering, epsilon=10)
    queries = [-3, 4, 0, 1, -2, 5, 5, 5]
    tape = Tape(beyond=System())
    expected = recipe.start(tape).feed(queries)
    script = tape.values
    for cut in range(len(queries) + 1):
        tape = Tape(script)
        run = recipe.start(tape)
        before = run.feed(queries[:cut])
        again = recipe.resume(run.snapshot(), Tape(script[len(tape.draws) :]))
        assert (again.id, again.t) == (run.id, cut)
        assert before + again.feed(queries[cut:]) == expected
    with pytest.raises(StoreRefused):
        vector(aboves=4).resume(run.snapshot(), Zero())


def test_recipes_survive_json() -> None:
    recipe = vector(monotone=True, answering="1/3", horizon=9)
    again = recipe_from_json(recipe.to_json(), {"SparseVector": SparseVector})
    assert again == recipe
    assert hash(again) == hash(recipe)


def test_bad_inputs_change_nothing_and_are_not_told() -> None:
    run = vector(horizon=3).start(Tape([1, 2, 3]))
    run.step(-50)
    before = run.snapshot()
    bad: list[Any] = [None, float(CANARY), str(CANARY), True, [CANARY], np.ones(2, dtype=int)]
    for x in bad:
        for call in (run.step, lambda x: run.feed([1, x])):
            with pytest.raises(BadInput) as caught:
                call(x)
            assert str(CANARY) not in str(caught.value)
    with pytest.raises(HorizonReached):
        run.feed([1, 2, 3])
    assert run.snapshot() == before
    assert str(CANARY) not in repr(run)


@pytest.mark.parametrize(
    "parameters",
    [
        {"aboves": 0},
        {"epsilon": 0},
        {"sensitivity": 0},
        {"neighbours": "sometimes"},
        {"epsilon": "1e-6", "sensitivity": 2**40, "aboves": 2**20},
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        vector(**parameters)


@pytest.mark.parametrize("share", [1, -1, "-0.001"])
def test_answers_take_a_share_and_not_all(share: Any) -> None:
    with pytest.raises(BadInput, match="a share of epsilon, from 0 to below 1"):
        vector(answering=share)
    assert vector(answering="0.999").answer_scale == 2 / Fraction("0.999")


def test_an_answer_that_is_not_paid_for_has_no_bound() -> None:
    with pytest.raises(BadInput, match="answer_epsilon"):
        vector().answer_bound(0.1)
    assert vector(answering="1/2").answer_bound(0.05) == 12  # scale 4, so 4 ln 20


def test_the_error_bound_holds_as_often_as_it_says() -> None:
    # 1,000 runs of 20 queries just outside of the bound; false alarm 1e-6
    beta, steps, noise = 0.3, 20, Pooled()
    recipe = vector(aboves=1, epsilon="1/2")
    reach = int(recipe.error.bound_all(steps, beta))
    right = [Said.BELOW] * (steps - 1) + [Said.ABOVE]
    wrong = 0
    for _ in range(1000):
        replies = recipe.start(noise).feed([-reach - 1] * (steps - 1) + [reach])
        wrong += [reply.said for reply in replies] != right
    assert wrong <= binom.isf(1e-6, 1000, beta)
    # and one query alone: a quarter as far is not enough
    reach = int(recipe.error.bound(1, beta))
    once = [recipe.start(noise).step(reach // 4).said for _ in range(1000)]
    assert once.count(Said.BELOW) > binom.isf(1 - 1e-6, 1000, beta / 2)
    far = [recipe.start(noise).step(reach).said for _ in range(1000)]
    assert far.count(Said.BELOW) <= binom.isf(1e-6, 1000, beta)
