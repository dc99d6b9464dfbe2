"""The transformation as a run: what it publishes, how it halts, what it costs, how far it errs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput, HorizonReached, StoreRefused
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Concentrated, Pure
from ameles.core.recipe import Recipe, recipe_from_json
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.transformation import HALTED, Continual, continual
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from tests.mechanisms.continual.scripted import Scripted, scripted
from tests.pooled_noise import Pooled


def test_without_noise_it_follows_the_answers_and_halts_for_ever() -> None:
    run = scripted((0, 5, 6, 11, 12, 17, 18, 0)).start(Zero())
    # within 5 of the last value nothing changes; the third change is one too many
    assert run.feed([None] * 8) == [0, 0, 6, 6, 12, 12, HALTED, HALTED]
    assert run.halted
    assert str(HALTED.value) == "halted"


def test_with_no_changes_allowed_it_publishes_zero_until_it_halts() -> None:
    assert scripted((5, 6, 0), changes=0).start(Zero()).feed([None] * 3) == [0, HALTED, HALTED]


def test_the_draws_are_those_of_the_figure() -> None:
    recipe = scripted((100,) * 8, epsilon=2, changes=4, sensitivity=3, threshold=0)
    tape = Tape()
    run = recipe.start(tape)
    assert run.feed([None] * 8) == [100] * 8
    tree, decision = Fraction(9, 2), Fraction(15)
    # the starting intervals, the comparison, and at the first step the new value
    assert [draw.scale for draw in tape.draws] == [
        *[tree] * 3,
        *[decision] * 2,
        *[tree, decision],
        *[tree, tree, decision],
        *[tree, decision],
        *[tree, tree, tree, decision],
        *[tree, decision],
        *[tree, tree, decision],
        *[tree, decision],
    ]
    assert recipe.guarantee.loss == Pure(5)


def test_there_is_a_level_for_each_length_of_which_a_second_interval_begins() -> None:
    horizons = (2, 3, 4, 5, 8, 9, 16, 17)
    assert [scripted((0,), horizon=horizon).levels for horizon in horizons] == [
        sum(2**level < horizon for level in range(8)) for horizon in horizons
    ]


def test_after_a_halt_only_the_algorithms_state_is_left() -> None:
    recipe = scripted((100, 200, 300, 400), changes=1)
    run = recipe.start(Tape([9] * 99))
    assert run.feed([None] * 2) == [109, HALTED]
    public, opened, *_ = unpack(run.snapshot(), recipe.fingerprint).parts
    assert (public.tolist(), opened.tolist()) == ([0, 2], [0, 0])
    tape = Tape()
    again = recipe.resume(run.snapshot(), tape)
    assert again.feed([None] * 2) == [HALTED] * 2
    assert tape.draws == []


@pytest.mark.parametrize("relation", [Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION])
def test_the_total_is_stated_at_user_level(relation: Neighbours) -> None:
    inner = NoisyDistinct(users=50, epsilon="1/2", neighbours=relation)
    recipe = continual(
        inner, horizon=100, epsilon=1, changes=3, jump=5, sensitivity=inner.sensitivity
    )
    guarantee = recipe.guarantee
    assert guarantee.loss == Pure(3)
    assert guarantee.neighbours is relation
    assert guarantee.intrusions is Intrusions.ONE
    assert (guarantee.unit.kind, guarantee.horizon) == ("user", 100)
    with pytest.raises(BadInput, match=r"System.direct"):
        recipe.start(System())


def test_a_secret_state_costs_nothing_and_may_not_be_seized() -> None:
    recipe = continual(
        ExactDistinct(users=9), horizon=8, epsilon=1, changes=1, jump=1, sensitivity=1
    )
    assert recipe.guarantee.loss == Pure("2.5")
    assert recipe.guarantee.intrusions is Intrusions.NONE
    recipe.start(System()).step(3)


@pytest.mark.parametrize("inner", ["exact", "noisy"])
def test_resuming_equals_going_on_and_the_size_is_fixed(inner: str) -> None:
    algorithm: Any = (
        ExactDistinct(users=20)
        if inner == "exact"
        else NoisyDistinct(users=20, epsilon=3, neighbours="user-presence")
    )
    recipe = continual(algorithm, horizon=7, epsilon=40, changes=2, jump=1, sensitivity=1)
    users = [3, 1, 4, 1, 5, 9, 2]
    tape = Tape(beyond=System())
    expected = recipe.start(tape).feed(users)
    script, sizes = tape.values, set()
    for cut in range(len(users) + 1):
        tape = Tape(script)
        run = recipe.start(tape)
        before = run.feed(users[:cut])
        again = recipe.resume(run.snapshot(), Tape(script[len(tape.draws) :]))
        assert (again.id, again.t) == (run.id, cut)
        assert before + again.feed(users[cut:]) == expected
        sizes.add(len(run.snapshot()))
    assert len(sizes) == 1
    with pytest.raises(HorizonReached):
        run.step(1)
    with pytest.raises(HorizonReached):
        run.release()
    with pytest.raises(StoreRefused):
        replace(recipe, threshold=99).resume(run.snapshot(), Zero())


def test_recipes_survive_json_with_their_algorithm() -> None:
    inner = NoisyDistinct(users=50, epsilon="1/2", neighbours="user-presence")
    recipe = continual(inner, horizon=9, epsilon=1, changes=3, jump=5, sensitivity=1)
    known: dict[str, type[Recipe]] = {"Continual": Continual, "NoisyDistinct": NoisyDistinct}
    assert recipe_from_json(recipe.to_json(), known) == recipe


def test_the_grid_is_rounded_up() -> None:
    recipe = continual(
        Scripted(answers=(0,)),
        horizon=4,
        epsilon=1,
        changes=1,
        jump="0.51",
        sensitivity="0.3",
        grid="0.25",
    )
    assert (recipe.sensitivity, recipe.jump) == (2, 3)


def test_what_cannot_be_is_refused() -> None:
    good: dict[str, Any] = {
        "horizon": 4,
        "epsilon": 1,
        "changes": 1,
        "jump": 1,
        "sensitivity": 1,
    }
    inner = Scripted(answers=(0,))
    for bad in (
        {"horizon": 1},
        {"changes": -1},
        {"sensitivity": 0},
        {"grid": 0},
        {"beta": 1.5},
        {"epsilon": "1e-9", "changes": 2**30, "sensitivity": 2**20},
    ):
        with pytest.raises(BadInput):
            continual(inner, **{**good, **bad})
    nothing: Any = 3
    with pytest.raises(BadInput, match="an estimator"):
        continual(nothing, **good)
    with pytest.raises(BadInput, match="pure"):
        continual(_Gaussian(answers=(0,)), **good)
    with pytest.raises(BadInput, match="algorithm's own"):
        continual(_Short(answers=(0,)), **good)
    # some occurrences of one user become another's: two bits of the answer move
    two = NoisyDistinct(users=9, epsilon=1, neighbours="user-substitution")
    with pytest.raises(BadInput, match=r"'sensitivity' .* at least the algorithm's own, 2"):
        continual(two, **good)
    assert continual(two, **{**good, "sensitivity": 2}).sensitivity == 2


def test_noise_is_refused_from_where_it_would_not_fit() -> None:
    # the scale of a decision is 2 * sensitivity * (changes + 1) / epsilon
    assert scripted((0,) * 4, sensitivity=2**40, changes=2**14 - 2).decision_scale < 2**55
    with pytest.raises(BadInput, match="64 bits"):
        scripted((0,) * 4, sensitivity=2**40, changes=2**14 - 1)
    # that of the threshold, which is summed over the levels, is sensitivity * levels / epsilon
    few = {"sensitivity": 2**40, "changes": 0, "horizon": 2**16}
    assert scripted((0,), epsilon="0.0079", **few).levels == 16
    with pytest.raises(BadInput, match="64 bits"):
        scripted((0,), epsilon="0.0078125", **few)


class _Gaussian(Scripted):
    @property
    def state_guarantee(self) -> Any:
        return replace(super().state_guarantee, loss=Concentrated(1))


class _Short(Scripted):
    @property
    def state_guarantee(self) -> Any:
        return replace(super().state_guarantee, horizon=2)


def test_the_error_bound_holds_as_often_as_it_says() -> None:
    # 400 runs of 32 steps whose answers jump 3 times; false alarm 1e-6
    beta, noise, steps = 0.4, Pooled(), 32
    size = 4000
    answers = tuple(size * (t // 8) for t in range(steps))
    recipe = continual(
        Scripted(answers=answers),
        horizon=steps,
        epsilon=1,
        changes=3,
        jump=100,
        sensitivity=1,
        beta=beta,
    )
    bound = recipe.error.bound_all(steps, beta)
    assert bound < size / 2  # so that a missed jump would be seen
    wrong = 0
    for _ in range(400):
        released = recipe.start(noise).feed([None] * steps)
        wrong += any(
            r is HALTED or abs(r - a) > bound for r, a in zip(released, answers, strict=True)
        )
    assert wrong <= binom.isf(1e-6, 400, beta)
    with pytest.raises(BadInput, match="beta"):
        recipe.error.bound_all(steps, 1.5)
    # a smaller beta than the threshold was chosen for promises nothing
    assert recipe.error.bound_all(steps, beta / 100) == float("inf")
    assert recipe.error.bound(8, beta) <= bound


def test_the_bound_is_that_of_the_catalogue_with_exact_quantiles() -> None:
    recipe = continual(
        Scripted(answers=(0,)), horizon=64, epsilon=1, changes=5, jump=10, sensitivity=2, beta=0.1
    )
    allowed = recipe.scales.allowances(64, 0.1)
    assert recipe.threshold == 10 + allowed.comparison + allowed.update + allowed.threshold
    assert recipe.error.bound_all(64, 0.1) == 10 + (
        2 * allowed.comparison + 2 * allowed.threshold + allowed.update
    )
    # the printed logarithms, ln((4T - 2) / beta), allow more
    logarithm = float(np.log((4 * 64 - 2) / 0.05))
    assert allowed.comparison <= 2 * 2 * 6 * logarithm
    assert allowed.threshold <= 6 * (2 * 6) * logarithm
