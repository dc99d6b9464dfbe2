"""Who pays and when: versions of two tables, and parts that several threads ask about."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ameles.core.guarantee import EVENT
from ameles.core.loss import Pure
from ameles.query import StoreAccount, open_account
from ameles.query.account import LedgerAccount
from tests.query.tables import table, truthful


def test_two_tables_have_a_version_if_both_have_one() -> None:
    account = LedgerAccount(truthful())
    labelled = table(account=account, version="v1")
    other, none = table(account=account, version="v2"), table(account=account)
    assert labelled.union(other).version == '["v1", "v2"]'
    # rows of the table without a label may change, and the answer with them
    assert labelled.union(none).version is None
    assert none.except_(labelled).version is None
    pairs = labelled.join(none.select("id", x="age"), on="id", at_most=(1, 1))
    assert pairs.version is None


def test_a_part_is_paid_for_by_one_thread_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid, both = StoreAccount._paid, threading.Barrier(2)

    def slow(*given: Any) -> Any:
        payment = paid(*given)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # the other thread pays meanwhile, if it may
        return payment

    place = str(tmp_path / "people.db")
    with open_account(place, "people", unit=EVENT, cap=Pure(4)) as account:
        parts = table(account=account).partition(region=["north", "south"])
        parts["south"].noisy_count(epsilon=1)
        monkeypatch.setattr(StoreAccount, "_paid", slow)
        with ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(parts["north"].noisy_count, epsilon=1) for _ in range(2)]
            assert len({one.result().entry for one in asked}) == 2
        assert account.left == Pure(2)  # two questions to the costliest part
