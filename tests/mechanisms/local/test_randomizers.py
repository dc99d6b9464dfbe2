"""Local randomizers: the law of the code is the table, and it loses what is promised."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.local import (
    FiniteTable,
    HadamardResponse,
    RandomizedResponse,
    UnaryEncoding,
)
from ameles.mechanisms.local.hadamard import agrees, walsh_hadamard
from ameles.mechanisms.local.randomizer import FrequencyRandomizer
from ameles.noise import System, Tape, Zero
from ameles.noise.enumeration import law_of
from tests.each import together

KINDS: tuple[Any, ...] = (
    RandomizedResponse,
    UnaryEncoding,
    lambda **given: UnaryEncoding(optimised=False, **given),
    HadamardResponse,
)
SMALL: tuple[Any, ...] = (
    RandomizedResponse(categories=2, odds=3),
    RandomizedResponse(categories=5, odds="3/2"),
    UnaryEncoding(categories=2, odds=3),
    UnaryEncoding(categories=3, odds=9, optimised=False),
    UnaryEncoding(categories=2, odds="9/4", optimised=False),
    HadamardResponse(categories=2, odds=3),
    HadamardResponse(categories=3, odds="3/2"),
    HadamardResponse(categories=6, odds=2),
)


def name(recipe: Any) -> str:
    return f"{type(recipe).__name__}-{recipe.categories}-{recipe.odds}"


def outcomes(recipe: Any) -> list[Any]:
    """All reports, in the order of the table's columns."""
    if recipe.report_size == 1:
        return list(range(recipe.report_values))
    return list(product((0, 1), repeat=recipe.report_size))


@pytest.mark.parametrize("recipe", SMALL, ids=name)
def test_the_law_of_the_code_is_the_table(recipe: Any) -> None:
    # All tapes of the real code, for every value and for one that is not listed.
    for value, row in zip((*range(recipe.categories), None), recipe.table.rows, strict=True):

        def program(noise: Noise, value: Any = value) -> Any:
            report = recipe.start(noise).step(value)
            return tuple(report.tolist()) if isinstance(report, np.ndarray) else report

        law = law_of(program, modulus=3)
        expected = dict(zip(outcomes(recipe), row, strict=True))
        assert law == {outcome: p for outcome, p in expected.items() if p}


@pytest.mark.parametrize("recipe", SMALL, ids=name)
def test_the_table_loses_what_is_promised(recipe: Any) -> None:
    assert recipe.table.ratio == recipe.ratio <= recipe.odds
    assert recipe.table.epsilon <= recipe.loss.epsilon == recipe.guarantee.loss.epsilon


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "1", "3", "20"])
def test_an_epsilon_is_never_exceeded_and_nearly_used(kind: Any, epsilon: str) -> None:
    recipe = kind(categories=5, epsilon=epsilon)
    true = Interval.of(Fraction(epsilon)).exp()
    assert Interval.of(recipe.ratio).high <= true.low
    assert recipe.ratio > Fraction(true.low) * (1 - Fraction(1, 10**10))
    assert recipe.loss.epsilon == Fraction(epsilon)


@pytest.mark.parametrize("recipe", SMALL, ids=name)
def test_the_estimate_is_unbiased(recipe: Any) -> None:
    # In fractions: the mean of (support - q) / (p - q) is one for the own category, else zero.
    rows = recipe.table.rows
    supports = [recipe.support(np.array([outcome])).tolist() for outcome in outcomes(recipe)]
    for value in range(recipe.categories):
        for category in range(recipe.categories):
            mean = sum(
                p * support[category] for p, support in zip(rows[value], supports, strict=True)
            )
            assert (mean - recipe.q) / (recipe.p - recipe.q) == (value == category)


@pytest.mark.parametrize("recipe", SMALL, ids=name)
def test_a_value_that_is_not_listed_counts_nowhere_or_evenly(recipe: Any) -> None:
    row = recipe.table.rows[-1]
    supports = [recipe.support(np.array([outcome])).tolist() for outcome in outcomes(recipe)]
    for category in range(recipe.categories):
        mean = sum(p * support[category] for p, support in zip(row, supports, strict=True))
        counted = (mean - recipe.q) / (recipe.p - recipe.q)
        if isinstance(recipe, RandomizedResponse):
            # evenly but for the rounding of one draw
            width = Fraction(1, recipe.draws[1]) / (recipe.p - recipe.q)
            assert abs(counted - Fraction(1, recipe.categories)) <= width
        else:
            assert counted == 0


def test_known_answers() -> None:
    slides = RandomizedResponse(categories=2, odds=3)
    assert (slides.p, slides.q, slides.ratio) == (Fraction(3, 4), Fraction(1, 4), Fraction(3))
    assert math.isclose(float(slides.loss.epsilon), 1.098612, abs_tol=1e-6)
    assert slides.loss.epsilon >= Fraction(math.log(3))
    # catalogue 31: (mean - 1/4) 2, and a deviation of at most 1 / (2 sqrt(n) (2 p - 1))
    estimate = slides.estimate(np.array([1, 1, 0, 0]))
    assert estimate.shares.tolist() == [0.5, 0.5]
    assert slides.error.std(10_000) / 10_000 <= 1 / (2 * 100 * 0.5) + 1e-12
    # catalogue 33: sqrt(n) e^(eps / 2) / (e^eps - 1)
    binary = RandomizedResponse(categories=2, epsilon=1)
    expected = math.sqrt(100) * math.exp(0.5) / math.expm1(1)
    assert math.isclose(binary.error.std(100), expected, rel_tol=1e-9)


def wrong_k_ary(odds: Fraction, k: int) -> FiniteTable:
    """The binary p for k categories: the rest is shared by k - 1 others."""
    p = odds / (odds + 1)
    q = (1 - p) / (k - 1)
    return FiniteTable([[p if x == y else q for y in range(k)] for x in range(k)])


def full_loss_per_bit(odds: Fraction) -> FiniteTable:
    """A unary code that spends the whole loss on each of the two bits that differ."""
    p = odds / (odds + 1)
    q = 1 - p
    truth = [[p, q], [q, p]]  # of a one at the first place, and at the second
    rows = [[one * other for one in truth[x] for other in truth[1 - x]] for x in range(2)]
    return FiniteTable(rows)


def refuses_what_is_not_listed(recipe: RandomizedResponse) -> FiniteTable:
    """A client that answers nothing if its value is not listed (catalogue 30, the erratum)."""
    silent = [Fraction(0)] * recipe.categories + [Fraction(1)]
    return FiniteTable([*([*row, Fraction(0)] for row in recipe.table.rows[:-1]), silent])


def first_row_used(odds: Fraction) -> FiniteTable:
    """A Hadamard code whose first category has the row without a minus."""
    p = odds / (odds + 1)
    rows = []
    for x in range(4):
        weights = [p if agrees(x, y) else 1 - p for y in range(4)]
        rows.append([weight / sum(weights) for weight in weights])
    return FiniteTable(rows)


def test_the_wrong_variants_are_caught() -> None:
    odds = Fraction(3)
    assert wrong_k_ary(odds, 5).ratio == 4 * odds
    assert full_loss_per_bit(odds).ratio == odds**2
    assert refuses_what_is_not_listed(RandomizedResponse(categories=2, odds=3)).ratio == math.inf
    with pytest.raises(BadInput, match="no local randomizer"):
        _ = FiniteTable([[1, 0], [0, 1]]).epsilon
    # The first row is within the odds, but it supports every category: nothing can be estimated.
    assert first_row_used(odds).rows[0] == (Fraction(1, 4),) * 4
    # Two coins where one keeps the truth with 1/2: the printed "tails" would give 1/4 + 1/4.
    assert FiniteTable([["3/4", "1/4"], ["1/2", "1/2"]]).ratio == 2


def test_tables_draw_their_own_law() -> None:
    table = FiniteTable([["1/2", "1/3", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    assert table.ratio == 4
    for value, row in enumerate(table.rows):
        law = law_of(partial(table.draw, value), modulus=3)
        assert law == dict(enumerate(row))
    assert table.draw(2, Zero()) == 2


@pytest.mark.parametrize(
    "rows", [[], [[1], ["1/2", "1/2"]], [["1/2", "1/3"]], [["3/2", "-1/2"]], [[0.3, 0.6]]]
)
def test_what_is_no_table_is_refused(rows: Any) -> None:
    with pytest.raises(BadInput):
        FiniteTable(rows)


def test_denominators_beyond_64_bits_are_refused() -> None:
    with pytest.raises(BadInput, match="denominator"):
        FiniteTable([[Fraction(1, 3**40), 1 - Fraction(1, 3**40)]])


def test_columns_that_never_happen_say_nothing() -> None:
    assert FiniteTable([["1/2", "1/2", 0], ["1/4", "3/4", 0]]).ratio == 2
    assert FiniteTable([["1/2", "1/2"]]).epsilon == 0


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_epsilon_and_odds_is_given(kind: Any) -> None:
    with pytest.raises(BadInput, match="Exactly one"):
        kind(categories=2)
    with pytest.raises(BadInput, match="Exactly one"):
        kind(categories=2, epsilon=1, odds=3)
    with pytest.raises(BadInput, match="digits"):
        kind(categories=2, odds=Fraction(10**13 + 1, 10**12))


def test_draws_of_the_largest_tables_fit_into_64_bits() -> None:
    for kind in (RandomizedResponse, HadamardResponse):
        largest = 1 << 20 if kind is RandomizedResponse else (1 << 20) - 1
        for given in ({"epsilon": "0.0001"}, {"epsilon": 20}, {"odds": "1.00010000001"}):
            recipe = kind(categories=largest, **given)
            assert recipe.draws[1] < 1 << 63
            assert recipe.start(System.direct()).feed([0, largest - 1, None]).max() < 1 << 21


@pytest.mark.parametrize("kind", KINDS)
def test_lists_arrays_and_single_users_are_the_same(kind: Any) -> None:
    recipe: FrequencyRandomizer = kind(categories=5, epsilon=1)
    values = [0, 4, None, 2, 7, -3]
    tape = Tape(beyond=System.direct())
    expected = recipe.start(tape).feed(values).tolist()
    array = np.array([-1 if value is None else value for value in values])
    assert recipe.start(Tape(tape.values)).feed(array).tolist() == expected
    run = recipe.start(Tape(tape.values))
    assert [np.asarray(run.step(value)).tolist() for value in values] == expected
    assert run.t == 6
    assert array.tolist() == [0, 4, -1, 2, 7, -3]  # the caller's array is as it was


@together("kind", KINDS)
@together("values", [3, "012", b"01", {0, 1}, np.zeros((2, 2), int), np.zeros(2), {0: 1}])
def test_what_is_no_list_of_values_is_refused(kind: Any, values: Any) -> None:
    tape = Tape()
    run = kind(categories=5, epsilon=1).start(tape)
    with pytest.raises(BadInput):
        run.feed(values)
    assert (run.t, tape.count) == (0, 0)


def test_draws_are_wiped_and_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ameles.mechanisms.local.randomizer.CHUNK", 8)
    recipe = UnaryEncoding(categories=3, epsilon=1)
    tape = Tape(beyond=System.direct())
    expected = recipe.start(tape).feed(range(9)).tolist()
    monkeypatch.undo()
    assert recipe.start(Tape(tape.values)).feed(range(9)).tolist() == expected

    class Seen(Zero):
        def uniform(self, n: int, size: Any) -> Any:
            self.drawn = super().uniform(n, size) + 5
            return self.drawn

    seen = Seen()
    recipe.start(seen).step(1)
    assert seen.drawn.tolist() == [[0, 0, 0]]


def test_no_users_are_no_reports() -> None:
    for kind in KINDS:
        recipe = kind(categories=5, epsilon=1)
        reports = recipe.start(System.direct()).feed([])
        found = recipe.estimate(reports)
        assert found.counts.tolist() == [0] * 5 == recipe.estimate([]).counts.tolist()
        assert not np.signbit(found.low).any()


def test_the_transform_is_the_matrix() -> None:
    counts = np.arange(8) ** 2
    matrix = [[1 if agrees(row, column) else -1 for column in range(8)] for row in range(8)]
    assert walsh_hadamard(counts).tolist() == (np.array(matrix) @ counts).tolist()
