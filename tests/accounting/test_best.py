from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.accounting.best import MethodBound, best
from ameles.accounting.optimal import optimal_delta
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure

METHODS = {
    "basic",
    "advanced, sharp",
    "advanced, printed",
    "zCDP, tight",
    "zCDP, simple",
    "optimal",
}


def test_catalogue_51_all_rows_of_one_table() -> None:
    comparison = best(Pure(1), count=100, delta="1e-6")
    table = {row.method: round(float(row.epsilon), 1) for row in comparison.table}
    assert table["basic"] == 100
    assert table["advanced, sharp"] == 98.8
    assert table["advanced, printed"] == 224.4
    assert set(table) == METHODS
    assert comparison.method == "optimal"
    assert comparison.loss == Approx(comparison.table[0].epsilon, "1e-6")


@settings(max_examples=50)
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=2, max_denominator=100),
    st.integers(1, 100),
    st.integers(1, 15).map(lambda places: Fraction(1, 10**places)),
)
def test_the_least_comes_first_and_every_row_is_true(
    epsilon: Fraction, count: int, delta: Fraction
) -> None:
    table = best(Pure(epsilon), count=count, delta=delta).table
    assert list(table) == sorted(table, key=lambda row: row.epsilon)
    assert not false_rows(table, epsilon, count, delta)
    assert table[0].epsilon == next(row.epsilon for row in table if row.method == "optimal")


def false_rows(
    table: tuple[MethodBound, ...], epsilon: Fraction, count: int, delta: Fraction
) -> list[str]:
    """The rows at whose epsilon randomized response leaks more than delta."""
    # A relative 1e-9 for the rounding of the optimum itself, upward like all others.
    return [
        row.method
        for row in table
        if optimal_delta(each=epsilon, count=count, epsilon=row.epsilon)
        > delta * (1 + Fraction(1, 10**9))
    ]


def test_a_false_row_is_found() -> None:
    planted = (
        MethodBound("printed with exp(slack) - 1", Fraction("52.57")),
        MethodBound("basic", Fraction(100)),
    )
    assert false_rows(planted, Fraction(1), 100, Fraction(1, 10**6)) == [planted[0].method]


def test_one_mechanism_is_not_charged_more_than_itself() -> None:
    assert best(Pure(1), count=1, delta=0).table == (MethodBound("basic", Fraction(1)),)
    assert best(Pure(1), count=1, delta="1e-6").table[0].epsilon < 1


def test_ties_go_to_the_simpler_theorem() -> None:
    assert best(Pure(0), count=5, delta="1e-6").method == "basic"


def test_deltas_of_their_own_are_paid_first() -> None:
    each = Approx("0.1", "1e-9")
    comparison = best(each, count=100, delta="1.1e-6")
    alone = best(Pure("0.1"), count=100, delta="1e-6")
    assert comparison.delta == Fraction("1.1e-6")
    assert [row.method for row in comparison.table] == [row.method for row in alone.table]
    assert (
        comparison.table[0].epsilon
        == best(Pure("0.1"), count=100, delta=Fraction("1.1e-6") - Fraction("1e-7"))
        .table[0]
        .epsilon
    )
    assert [row.method for row in best(each, count=100, delta="1e-7").table] == ["basic"]
    with pytest.raises(BadInput, match="count \\* delta"):
        best(each, count=100, delta="1e-8")


def test_zcdp_has_its_own_two_rows() -> None:
    comparison = best(Concentrated("0.01"), count=50, delta="1e-6")
    assert [row.method for row in comparison.table] == ["zCDP, tight", "zCDP, simple"]
    with pytest.raises(BadInput, match="'delta'"):
        best(Concentrated(1), count=1, delta=0)


def test_beyond_a_million_the_optimum_is_left_out() -> None:
    methods = {row.method for row in best(Pure("1e-6"), count=10**7, delta="1e-6").table}
    assert methods == METHODS - {"optimal"}


def test_the_table_reads_as_text() -> None:
    lines = str(best(Pure("0.1"), count=100, delta="1e-6")).splitlines()
    assert lines[0].endswith("<- least")
    assert len(lines) == len(METHODS)
