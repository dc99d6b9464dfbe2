"""Key selection: keep-probabilities that hold exactly, the loss of several keys, refusals."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.guarantee import USER, Neighbours, Norm
from ameles.core.loss import Approx, Pure
from ameles.ledger import Ledger
from ameles.mechanisms.one_shot import KeySelection
from ameles.mechanisms.one_shot.key_selection import ONE, keep_probabilities
from ameles.noise import System, Tape, Zero
from ameles.noise.enumeration import law_of

USERS: dict[str, Any] = {"neighbours": "user-presence", "unit": "user"}


class WholeBudgetEach(KeySelection):
    """Gives every key all of epsilon and delta."""

    @property
    def of_one_key(self) -> tuple[Fraction, Fraction]:
        epsilon, delta = super().of_one_key
        return epsilon * self.touched, delta * self.touched


def power_of_e(epsilon: Fraction) -> Fraction:
    """e^epsilon to 120 digits."""
    digits = Context(prec=120)
    exponent = digits.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(exponent.exp(digits))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-5"), ("1/10", "1e-9"), ("5", "1/100"), ("1/3", "1e-30")]
)
def test_the_probabilities_are_private_exactly_and_as_large_as_can_be(
    epsilon: str, delta: str
) -> None:
    table = [Fraction(pi, ONE) for pi in keep_probabilities(Fraction(epsilon), Fraction(delta))]
    grown, extra = power_of_e(Fraction(epsilon)), Fraction(delta)
    assert [table[0], table[-1]] == [0, 1]
    least = Fraction(1, 2**200)
    for before, after in pairwise(table):
        assert before < after
        assert after <= grown * before + extra
        assert 1 - before <= grown * (1 - after) + extra
        # as large as can be: a little more would break one of the two
        more = after + least
        assert more > 1 or more > grown * before + extra or 1 - before > grown * (1 - more) + extra


def test_the_table_is_the_recursion_of_the_paper() -> None:
    pi = [0.0]
    while pi[-1] < 1:
        last = pi[-1]
        pi.append(min(math.e * last + 1e-5, 1 - (1 - last - 1e-5) / math.e, 1))
    table = keep_probabilities(Fraction(1), Fraction(1, 10**5))
    assert [p / ONE for p in table] == pytest.approx(pi, rel=1e-9)


def test_without_noise_the_likelier_half_is_kept() -> None:
    recipe = KeySelection(epsilon=1, delta="1e-5", **USERS)
    half = next(n for n in range(99) if recipe.keep_probability(n) > Fraction(1, 2))
    counts = [half - 1, half, 0, 10**9, -4, half + 1]
    assert recipe.start(Zero()).step(counts).tolist() == [1, 3, 5]
    assert recipe.start(Zero()).step(np.array([0, 200], dtype=np.uint8)).tolist() == [1]
    assert recipe.start(System()).step([]).tolist() == []


def test_each_key_has_the_coin_of_its_count() -> None:
    tape = Tape([1, 0, 1])
    recipe = KeySelection(epsilon=1, delta="1e-5", **USERS)
    assert recipe.start(tape).step([3, 99, 2, 0, 3]).tolist() == [1, 2, 4]
    pi = recipe.keep_probability
    assert tape.laws == [("bernoulli", pi(2)), ("bernoulli", pi(3)), ("bernoulli", pi(3))]


def hockey_stick(recipe: KeySelection, x: list[int], y: list[int]) -> Fraction:
    """The exact delta of the real code between two inputs, at its epsilon; both ways."""

    def law(counts: list[int]) -> dict[tuple[int, ...], Fraction]:
        return law_of(lambda noise: tuple(recipe.start(noise).step(counts).tolist()), modulus=3)

    one, other, grown = law(x), law(y), power_of_e(recipe.epsilon)
    none = Fraction(0)
    return max(
        sum((max(chance - grown * q.get(o, none), none) for o, chance in p.items()), none)
        for p, q in ((one, other), (other, one))
    )


def test_a_user_with_several_keys_is_within_epsilon_and_delta() -> None:
    pairs = [([a, b], [a + 1, b + 1]) for a in range(6) for b in range(a, 6)]
    recipe = KeySelection(epsilon=1, delta="1/50", max_groups=2, **USERS)
    assert max(hockey_stick(recipe, x, y) for x, y in pairs) <= recipe.delta
    wrong = WholeBudgetEach(epsilon=1, delta="1/50", max_groups=2, **USERS)
    assert max(hockey_stick(wrong, x, y) for x, y in pairs) > recipe.delta
    one = KeySelection(epsilon=1, delta="1/50", **USERS)
    assert hockey_stick(one, [0, 2], [1, 2]) == Fraction(int(recipe.delta * 2**256), 2**256)


def test_a_user_who_replaces_another_touches_twice_as_many_keys() -> None:
    shared: dict[str, Any] = {"epsilon": 1, "delta": "1e-3", "max_groups": 3, "unit": "user"}
    comes = KeySelection(neighbours="user-presence", **shared)
    replaces = KeySelection(neighbours="user-substitution", **shared)
    assert (comes.touched, replaces.touched) == (3, 6)
    assert replaces.of_one_key == (Fraction(1, 6), Fraction(1, 6000))
    promise = comes.guarantee
    assert (promise.contribution.steps, promise.contribution.bound) == (3, 1)
    assert promise.contribution.norm is Norm.MAX
    assert promise.loss == Approx(1, "1e-3")


def test_a_pure_cap_does_not_take_it() -> None:
    recipe = KeySelection(epsilon=1, delta="1e-5", **USERS)
    people = Ledger("people", cap=Pure(10), unit=USER, neighbours=Neighbours.USER_PRESENCE)
    with pytest.raises(AmelesError, match="delta"):
        people.start(recipe, on="table", why="a test")
    approximate = Approx(1, "1e-5")
    others = Ledger("others", cap=approximate, unit=USER, neighbours=Neighbours.USER_PRESENCE)
    assert others.start(recipe, on="table", why="a test").t == 0


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-4])
def test_the_error_says_how_large_a_lost_key_may_be(beta: float) -> None:
    recipe = KeySelection(epsilon="1/2", delta="1e-5", max_groups=2, **USERS)
    bound = int(recipe.error.bound(1, beta))
    assert recipe.keep_probability(bound + 1) >= 1 - Fraction(beta) > recipe.keep_probability(bound)
    assert recipe.error.bound_all(4, beta) == recipe.error.bound(1, beta / 4)


def test_what_it_refuses() -> None:
    with pytest.raises(BadInput, match="100,000 users"):
        KeySelection(epsilon="1e-6", delta="1e-9", **USERS)
    recipe = KeySelection(epsilon=1, delta="1e-5", **USERS)
    with pytest.raises(BadInput, match="a list of counts"):
        recipe.start(Zero()).step({3: 4})
    with pytest.raises(BadInput, match="delta"):
        KeySelection(epsilon=1, delta=0, **USERS)


def test_a_million_keys() -> None:
    recipe = KeySelection(epsilon="1/10", delta="1e-6", **USERS)
    counts = np.arange(10**6, dtype=np.int64) % 400
    kept = recipe.start(System()).step(counts)
    sure = int(recipe.error.bound(1, 1e-300)) + 1
    assert np.isin(np.flatnonzero(counts >= sure), kept).all()
    assert not (counts[kept] == 0).any()
    assert (np.diff(kept) > 0).all()
