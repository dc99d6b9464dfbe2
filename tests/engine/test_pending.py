"""What waits is kept exactly, joined exactly, and read back only if it is whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.pending import GathererState, Pending, Totals

ROWS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)), max_size=20
)


def totals(rows: list[tuple[int, int, int]]) -> Totals:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Totals(table[:, 0], table[:, 1], table[:, 2:])


@given(st.lists(ROWS, max_size=4))
def test_joined_totals_add_up_modulo_two_to_the_64(parts: list[list[tuple[int, int, int]]]) -> None:
    summed: dict[tuple[int, int], int] = {}
    for rows in parts:
        for step, cell, amount in rows:
            summed[step, cell] = summed.get((step, cell), 0) + amount
    # one part alone is taken as it is: the engine's queries give one row for each cell
    unique = [Totals.joined([totals([row]) for row in rows], 1) for rows in parts]
    joined = Totals.joined(unique, 1)
    assert len(joined.step) == len(summed)
    for step, cell, amount in zip(joined.step, joined.cell, joined.amounts[:, 0], strict=True):
        assert (summed[int(step), int(cell)] - int(amount)) % 2**64 == 0


def test_a_matrix_has_all_cells_of_one_amount_after_the_other() -> None:
    some = Totals(np.array([3, 4, 9]), np.array([1, 0, 1]), np.array([[5, 50], [6, 60], [7, 70]]))
    assert some.matrix(3, 2, 2).tolist() == [[0, 5, 0, 50], [6, 0, 60, 0]]


def test_what_comes_after_a_step_is_the_same_in_order_or_not() -> None:
    mixed = totals([(4, 0, 5), (1, 0, 6), (3, 1, 7), (2, 1, 8)])
    for some in (mixed, mixed.in_order()):
        assert sorted(some.after(2).step.tolist()) == [3, 4]
        assert some.matrix(2, 2, 2).tolist() == [[0, 8], [0, 7]]
        assert some.after(2).matrix(3, 2, 2).tolist() == [[0, 7], [5, 0]]


def test_totals_in_order_are_not_copied_when_their_steps_are_released() -> None:
    ordered = totals([(4, 0, 5), (1, 0, 6), (3, 1, 7)]).in_order()
    assert ordered.in_order() is ordered
    assert np.shares_memory(ordered.after(1).amounts, ordered.amounts)


def test_bytes_and_back() -> None:
    candidates = {
        "step": np.array([4]),
        "key": np.zeros((1, 16), dtype=np.uint8),
        "times": np.array([1]),
    }
    pending = Pending(
        {"a/b": totals([(1, 0, 5)]), "c": Totals.none(2)}, GathererState(candidates, "2.0")
    )
    again = Pending.from_bytes(pending.to_bytes())
    assert again.state.made_by == "2.0"
    assert again.state.arrays["key"].tolist() == candidates["key"].tolist()
    assert again.totals["c"].amounts.shape == (0, 2)


@pytest.mark.parametrize("version", [b"P\x01", b"P\x03"])
def test_another_version_is_refused(version: bytes) -> None:
    stored = Pending({"a": totals([(1, 0, 5)])}).to_bytes()
    with pytest.raises(StoreRefused, match="cannot be read"):
        Pending.from_bytes(stored.replace(b"P\x02", version, 1))


def test_candidates_without_their_number_are_refused() -> None:
    candidates = {"step": np.array([4]), "key": np.zeros((1, 16), dtype=np.uint8)}
    stored = Pending({}, GathererState(candidates, "2.0")).to_bytes()
    with pytest.raises(StoreRefused, match="cannot be read"):
        Pending.from_bytes(stored)


def test_nothing_waits() -> None:
    assert Pending().empty
    assert Pending({"a": Totals.none(2)}, GathererState({}, "2.0")).empty
    assert not Pending({"a": Totals.none(2), "b": totals([(1, 0, 5)])}).empty
    assert not Pending({}, GathererState({"step": np.array([4])})).empty
    assert Pending({"a": totals([(1, 0, 5)])}).after(1).empty


def test_what_is_no_pending_state_is_refused() -> None:
    with pytest.raises(StoreRefused, match="cannot be read"):
        Pending.from_bytes(b"something else")


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_damaged_byte_is_refused(place: int, change: int) -> None:
    stored = bytearray(
        Pending(
            {"a": totals([(1, 0, 5)])},
            GathererState({"step": np.array([4]), "times": np.array([1])}, "2"),
        ).to_bytes()
    )
    stored[place % len(stored)] ^= change
    with pytest.raises(StoreRefused, match="cannot be read"):
        Pending.from_bytes(bytes(stored))


def test_half_of_it_is_refused() -> None:
    stored = Pending({"a": totals([(1, 0, 5)])}).to_bytes()
    for length in (0, 5, 10, len(stored) // 2, len(stored) - 1):
        with pytest.raises(StoreRefused, match="cannot be read"):
            Pending.from_bytes(stored[:length])


def test_it_shows_nothing() -> None:
    pending = Pending({"a": totals([(1, 0, 987654321)])})
    assert "987654321" not in f"{pending!r}{pending.totals['a']!r}"
