from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.search import edge, root


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30), st.integers(1, 10**30))
def test_edge_finds_the_turn_in_both_directions(turn: int, below: int, above: int) -> None:
    assert edge(lambda n: n <= turn, passing=turn - below, failing=turn + above) == turn
    assert edge(lambda n: n >= turn, passing=turn + above, failing=turn - below) == turn


@given(st.sets(st.integers(1, 99)))
def test_edge_returns_what_passes_beside_what_fails_for_any_condition(good: set[int]) -> None:
    def passes(n: int) -> bool:
        return n == 0 or (n in good and n != 100)

    last = edge(passes, passing=0, failing=100)
    assert passes(last)
    assert not passes(last + 1)


@given(st.floats(1e-100, 1e100))
def test_root_of_a_logarithm(where: float) -> None:
    zero = root(lambda x: math.log(x) - math.log(where), low=1e-150, high=1e150)
    assert math.isclose(zero, where, rel_tol=1e-12)


def test_root_returns_an_end_where_there_is_none() -> None:
    assert math.isclose(root(lambda x: 1.0, low=1e-3, high=1e3), 1e-3)
    assert math.isclose(root(lambda x: -1.0, low=1e-3, high=1e3), 1e3)
