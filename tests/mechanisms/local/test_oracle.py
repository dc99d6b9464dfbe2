"""The oracle LR(i, R): each user's budget, public refusals, and the loss of a whole transcript."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from functools import partial

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, NoCopy
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.local import FiniteTable, LocalOracle, RandomizedResponse
from ameles.noise import Zero
from ameles.noise.enumeration import law_of

COINS = RandomizedResponse(categories=2, odds=3).table
WEAK = RandomizedResponse(categories=2, odds="3/2").table


def test_each_user_has_a_budget() -> None:
    oracle = LocalOracle([0, 1, 1], cap="1.2", noise=Zero())
    assert [oracle(i, COINS) for i in range(3)] == [0, 1, 1]
    assert oracle.spent(0) == COINS.epsilon
    with pytest.raises(BudgetExceeded) as refused:
        oracle(1, WEAK)
    assert refused.value.left == Pure(Fraction("1.2") - COINS.epsilon)
    assert oracle.spent(1) == COINS.epsilon
    assert oracle.guarantee.loss == Pure("1.2")
    assert len(oracle) == 3


def test_a_refusal_does_not_depend_on_the_value() -> None:
    def refused(value: int) -> str:
        oracle = LocalOracle([value], cap=1, noise=Zero())
        with pytest.raises(BudgetExceeded) as seen:
            oracle(0, COINS)
        return str(seen.value)

    assert len({refused(value) for value in (0, 1, 2, 77, -1)}) == 1


def test_a_table_that_gives_values_away_is_refused_unpaid() -> None:
    oracle = LocalOracle([1], cap=5, noise=Zero())
    with pytest.raises(BadInput, match="no local randomizer"):
        oracle(0, FiniteTable([[1, 0], [0, 1]]))
    assert oracle.spent(0) == 0


def test_an_adaptive_transcript_loses_at_most_the_cap() -> None:
    # The second randomizer depends on the first answer; all tapes, all pairs of values.
    def transcript(value: int, noise: Noise) -> tuple[int, ...]:
        oracle = LocalOracle([value], cap="1.6", noise=noise)
        first = oracle(0, WEAK)
        second = oracle(0, COINS if first else WEAK)
        try:
            return first, second, oracle(0, COINS)
        except BudgetExceeded:
            return first, second

    laws = [law_of(partial(transcript, value), modulus=3) for value in (0, 1, 9)]
    odds = Fraction(3) * Fraction(3, 2)
    worst = Fraction(1)
    for one, other in itertools.permutations(laws, 2):
        assert one.keys() == other.keys()
        worst = max(worst, *(one[seen] / other[seen] for seen in one))
    assert worst == odds  # at most e^1.6 = 4.95


def test_what_is_no_user_or_budget_is_refused() -> None:
    oracle = LocalOracle([1, 0], cap=1, noise=Zero())
    for user in (-1, 2):
        with pytest.raises(BadInput):
            oracle(user, WEAK)
        with pytest.raises(BadInput):
            oracle.spent(user)
    with pytest.raises(BadInput):
        LocalOracle([1], cap=0, noise=Zero())


def test_a_table_that_states_its_own_loss_is_refused() -> None:
    class Free(FiniteTable):
        @property
        def epsilon(self) -> Fraction:
            return Fraction(0)

    oracle = LocalOracle([1, 0], cap=1, noise=Zero())
    with pytest.raises(BadInput, match="computes the loss"):
        oracle(0, Free([["999/1000", "1/1000"], ["1/1000", "999/1000"]]))
    assert oracle.spent(0) == 0


def test_users_are_not_copied_and_tell_no_value() -> None:
    oracle = LocalOracle([8_675_309], cap=1, noise=Zero())
    with pytest.raises(NoCopy):
        copy.copy(oracle)
    with pytest.raises(NoCopy):
        copy.copy(oracle._users[0])
    assert "8675309" not in repr(oracle) + repr(oracle._users[0])
