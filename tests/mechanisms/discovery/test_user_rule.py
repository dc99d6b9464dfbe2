"""The rule on arrays against the plain loop, on random records of few users and few keys."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.mechanisms.discovery.user_rule import keep
from ameles.noise import System
from tests.mechanisms.discovery.plain_users import PlainUsers

SIZE = 400


@pytest.mark.parametrize(("per_key", "records"), [(1, 4), (2, 5), (3, 3), (1, 100)])
def test_the_arrays_do_what_the_loop_does(per_key: int, records: int) -> None:
    slots = (4, 2, 1)
    plain = PlainUsers(per_key, records, slots)
    noise = System()
    for _ in range(6):
        user = np.sort(noise.uniform(30, SIZE))
        number = noise.uniform(12, SIZE)
        public = noise.uniform(3, 12)[number] == 0
        on_key = np.array([plain.counts[u][k] for u, k in zip(user, number, strict=True)])
        in_all = np.array([plain.counts[u].total() for u in user])
        used = np.array([plain.used[u] for u in user])
        counted, weight = keep(
            user,
            number,
            public,
            on_key=on_key,
            in_all=in_all,
            used=used,
            per_key=per_key,
            records=records,
            slots=slots,
        )
        wanted = [plain.take(u, k, public=p) for u, k, p in zip(user, number, public, strict=True)]
        assert list(zip(counted, weight, strict=True)) == wanted


def test_a_record_after_the_last_one_that_counts_takes_no_slot() -> None:
    zero = np.zeros(3, dtype=np.int64)
    counted, weight = keep(
        zero,
        np.array([1, 2, 3]),
        np.zeros(3, dtype=bool),
        on_key=zero,
        in_all=zero,
        used=zero,
        per_key=1,
        records=2,
        slots=(4, 2, 1, 1),
    )
    assert counted.tolist() == [True, True, False]
    assert weight.tolist() == [4, 2, 0]


def test_no_records_are_no_problem() -> None:
    none = np.empty(0, dtype=np.int64)
    counted, weight = keep(
        none,
        none,
        none.astype(bool),
        on_key=none,
        in_all=none,
        used=none,
        per_key=1,
        records=2,
        slots=(1,),
    )
    assert counted.size == weight.size == 0
