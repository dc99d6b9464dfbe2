"""Snapshots: whole or refused, and only for the recipe that they were taken of."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.snapshot import State, adopted, pack, run_id, unpack

FINGERPRINT = bytes(range(32))
INT64 = st.integers(-(2**63), 2**63 - 1)


def a_state(*parts: list[int]) -> State:
    arrays = tuple(np.array(part, dtype=np.int64) for part in parts)
    return State(run=b"0123456789abcdef", step=7, parts=arrays)


@given(st.lists(st.lists(INT64, max_size=5), max_size=4), st.integers(0, 2**63))
def test_round_trip(parts: list[list[int]], step: int) -> None:
    state = replace(a_state(*parts), step=step)
    again = unpack(pack(state, FINGERPRINT), FINGERPRINT)
    assert (again.run, again.step) == (state.run, step)
    assert [part.tolist() for part in again.parts] == parts
    assert run_id(pack(state, FINGERPRINT)) == (state.run.hex(), step)


def test_size_does_not_depend_on_values() -> None:
    assert len(pack(a_state([0, 0]), FINGERPRINT)) == len(pack(a_state([2**62, -5]), FINGERPRINT))


@given(st.data())
def test_every_flipped_bit_is_noticed(data: st.DataObject) -> None:
    whole = bytearray(pack(a_state([1, 2], [3]), FINGERPRINT))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(StoreRefused):
        unpack(bytes(whole), FINGERPRINT)


@given(st.integers(0, 140))
def test_every_truncation_is_noticed(length: int) -> None:
    whole = pack(a_state([1, 2], [3]), FINGERPRINT)
    with pytest.raises(StoreRefused):
        unpack(whole[: min(length, len(whole) - 1)], FINGERPRINT)


@given(st.binary(max_size=200))
def test_noise_is_no_snapshot(text: bytes) -> None:
    for reading in (lambda: unpack(text, FINGERPRINT), lambda: run_id(text)):
        with pytest.raises(StoreRefused):
            reading()


def test_another_recipe_is_refused() -> None:
    with pytest.raises(StoreRefused, match="another recipe"):
        unpack(pack(a_state([1]), FINGERPRINT), bytes(32))


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    newer = bytearray(pack(a_state([1]), FINGERPRINT))
    struct.pack_into("<H", newer, 8, 3)
    with pytest.raises(StoreRefused, match="update ameles"):
        unpack(bytes(newer), FINGERPRINT)


def test_version_one_stays_readable() -> None:
    # written by version 1; must never change
    old = bytes.fromhex(
        "414d454c455300530100"
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        "30313233343536373839616263646566"
        "0700000000000000"
        "01000000"
        "02000000000000000100000000000000feffffffffffffff"
    )
    assert pack(a_state([1, -2]), FINGERPRINT).startswith(old)
    assert unpack(pack(a_state([1, -2]), FINGERPRINT), FINGERPRINT).parts[0].tolist() == [1, -2]


def test_the_state_is_not_shown() -> None:
    assert "8675309" not in repr(a_state([8675309]))


def test_a_state_is_adopted_by_a_run_that_was_paid_for() -> None:
    state = State(run=bytes(range(16)), step=7, parts=(np.array([3, 4]), np.array([5])))
    whose = "f0" * 16
    given = adopted(pack(state, b"f" * 32), whose)
    again = unpack(given, b"f" * 32)
    assert run_id(given) == (whose, 7)
    assert [part.tolist() for part in again.parts] == [[3, 4], [5]]
    with pytest.raises(StoreRefused):
        adopted(b"something else", whose)
