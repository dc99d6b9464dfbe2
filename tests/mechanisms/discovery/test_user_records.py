from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.mechanisms.discovery import KeyDiscovery, UserStates, bounded, user_records
from ameles.noise.arrays import BoolArray, IntArray
from tests.mechanisms.discovery.plain_rule import PlainUser, plain_step

RECIPE = KeyDiscovery(
    epsilon=1, delta="1e-6", horizon=10, records=5, per_key=2, bound=3, cells=2, slots=(4, 2)
)
USERS, KEYS = 3, 4
RECORD = st.tuples(
    st.integers(0, USERS - 1), st.integers(0, KEYS - 1), st.integers(0, 1), st.integers(-9, 9)
)
STEP = st.tuples(st.lists(RECORD, max_size=12), st.sets(st.integers(0, KEYS - 1)))


def step_of(
    states: UserStates, public: set[int], records: list[tuple[int, int, int, int]]
) -> tuple[dict[int, list[int]], UserStates]:
    told = np.array([number in public for number in range(KEYS)])
    columns = np.array(records, dtype=np.int64).reshape(-1, 4).T
    inputs, after = bounded(
        RECIPE,
        told,
        user=columns[0],
        number=columns[1],
        cell=columns[2],
        amount=columns[3],
        earlier=states,
    )
    table = np.column_stack([inputs.selected, inputs.amounts]).tolist()
    return dict(zip(inputs.number.tolist(), table, strict=True)), after


@given(st.lists(STEP, max_size=4))
def test_arrays_do_what_the_rule_says_record_by_record(
    steps: list[tuple[list[tuple[int, int, int, int]], set[int]]],
) -> None:
    users: dict[int, PlainUser] = {}
    states = UserStates.empty(USERS)
    for records, public in steps:
        ordered = sorted(records, key=lambda record: record[0])
        expected = plain_step(RECIPE, users, public, ordered)
        got, states = step_of(states, public, ordered)
        assert got == expected
        states = UserStates.from_bytes(states.to_bytes())
        for user in range(USERS):
            plain = users.get(user, PlainUser())
            mine = states.user == user
            assert states.slots[user] == plain.slots
            pairs = zip(states.number[mine].tolist(), states.count[mine].tolist(), strict=True)
            assert dict(pairs) == +plain.counted


def check_that_users_do_not_matter_to_each_other(
    records: list[tuple[int, int, int, int]], public: set[int]
) -> None:
    ordered = sorted(records, key=lambda record: record[0])
    whole, _ = step_of(UserStates.empty(USERS), public, ordered)
    alone: dict[int, list[int]] = {}
    for user in range(USERS):
        own = [record for record in ordered if record[0] == user]
        part, _ = step_of(UserStates.empty(USERS), public, own)
        for number, row in part.items():
            sums = alone.setdefault(number, [0] * len(row))
            alone[number] = [a + b for a, b in zip(sums, row, strict=True)]
    assert alone == whole


@given(st.lists(RECORD, max_size=12), st.sets(st.integers(0, KEYS - 1)))
def test_what_one_user_adds_does_not_depend_on_others(
    records: list[tuple[int, int, int, int]], public: set[int]
) -> None:
    check_that_users_do_not_matter_to_each_other(records, public)


def test_slots_that_depend_on_another_user_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = user_records.keep

    def keep(
        recipe: KeyDiscovery,
        public: BoolArray,
        user: IntArray,
        number: IntArray,
        earlier: user_records.Earlier,
    ) -> tuple[BoolArray, IntArray]:
        """Gives a slot to the first user who names a key, and to nobody after."""
        counted, weight = right(recipe, public, user, number, earlier)
        first = np.zeros(number.size, dtype=np.bool_)
        first[np.unique(number, return_index=True)[1]] = True
        return counted, np.where(first, weight, 0)

    monkeypatch.setattr(user_records, "keep", keep)
    with pytest.raises(AssertionError):
        check_that_users_do_not_matter_to_each_other([(0, 1, 0, 1), (1, 1, 0, 1)], set())


@pytest.mark.parametrize(
    "columns",
    [
        {"user": [1, 0]},  # not in order
        {"cell": [0, 2]},
        {"cell": [-1, 0]},
        {"user": [0, 2]},
        {"user": [-1, 0]},
        {"number": [0, KEYS]},
        {"number": [-1, 0]},
        {"amount": [1.0, 2.0]},
        {"number": [0]},
        {"number": [[0], [1]]},
    ],
)
def test_records_that_do_not_fit_are_refused(columns: dict[str, list[int]]) -> None:
    whole = {"user": [0, 1], "number": [0, 1], "cell": [0, 1], "amount": [1, 1], **columns}
    with pytest.raises(BadInput):
        bounded(RECIPE, np.zeros(KEYS, dtype=np.bool_), earlier=UserStates.empty(2), **whole)


def test_damaged_states_are_refused() -> None:
    [whole] = UserStates.empty(1).to_bytes()
    for piece in (b"\x00\x00\x00\x00", whole + b"\x00", b"\x00\x00\x01\x01" + bytes(4)):
        with pytest.raises(StoreRefused):
            UserStates.from_bytes([piece])


def test_a_user_of_whom_nothing_is_known_has_no_bytes() -> None:
    states = UserStates.from_bytes([None, b""])
    assert states.slots.tolist() == [0, 0]
    assert not states.user.size
