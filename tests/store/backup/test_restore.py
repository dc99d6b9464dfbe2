"""A restore: all or nothing, and never in the place of a store that has more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import Pure
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.store import (
    Backup,
    Store,
    Transaction,
    open_store,
    opened_backup,
    restore,
    write_backup,
)
from ameles.store.batches import NewBatch
from tests.store.backup.test_backup import contents
from tests.store.places import Place, SqlitePlace
from tests.store.stores import MARCH, launch, minutes, new_store, visitors

DAY = timedelta(days=1)


def begin(transaction: Transaction) -> None:
    """A stream with a step released, something of the next one, tokens and a question."""
    stream = launch(transaction)
    transaction.set_position(stream, "row 12")
    transaction.set_pending(stream, b"waiting")
    release(transaction, 1)
    for name in ("site", "press"):
        transaction.add_token(
            digest=sha256(name.encode()).digest(),
            name=name,
            stream="flu",
            scope="read",
            created=MARCH,
            expires=MARCH + DAY,
        )
    run = visitors(transaction).start(
        SimpleOneCounter(epsilon="1/8", horizon=1), on="question", why="a question"
    )
    transaction.add_question(
        "visitors", entry=2, question="count", label=None, snapshot=run.snapshot(), asked=MARCH
    )
    transaction.add_epoch(stream, at=MARCH, why="a reboot", base=b"")


def release(transaction: Transaction, step: int, value: float = 2.5) -> None:
    stream = transaction.streams()[0]
    transaction.add_steps(stream, minutes(step, step))
    numbers = np.array([[10.0, value]])
    transaction.add_releases(stream, step, 1, numbers, numbers - 1, numbers + 1)
    transaction.advance(stream, released=step)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Comparing is done with the same statements everywhere; the last tests are on both."""
    return SqlitePlace(tmp_path)


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    with new_store(place) as opened:
        with opened.writing() as transaction:
            begin(transaction)
        yield opened


def in_place_of(store: Store, place: Place, folder: Path) -> None:
    """A backup of the store as it is now, restored over what is made of it until then."""
    with ExitStack() as resources:
        backup = resources.enter_context(opened_backup(folder / "b", work=folder / "unpacked"))
        restore(backup, place.url)


def more_released(transaction: Transaction) -> None:
    release(transaction, 2)


def more_events(transaction: Transaction) -> None:
    transaction.set_position(transaction.streams()[0], "row 13")


def more_waiting(transaction: Transaction) -> None:
    transaction.set_pending(transaction.streams()[0], None)


def more_batches(transaction: Transaction) -> None:
    transaction.add_batches(
        transaction.streams()[0], [NewBatch(bytes(16), bytes(range(16)), 2, "json", b"{}\n")]
    )


def more_spent(transaction: Transaction) -> None:
    visitors(transaction).start(SimpleOneCounter(epsilon="1/8", horizon=1), on="q", why="another")


def renewed(transaction: Transaction) -> None:
    visitors(transaction).renew(Pure("1/2"), why="a second season")


def another_budget(transaction: Transaction) -> None:
    transaction.open_budget("visitors", "study", cap=None)


def revoked(transaction: Transaction) -> None:
    transaction.revoke_token(1, MARCH)


def another_token(transaction: Transaction) -> None:
    transaction.add_token(
        digest=bytes(32), name="c", stream="flu", scope="read", created=MARCH, expires=MARCH + DAY
    )


def retired(transaction: Transaction) -> None:
    transaction.retire(transaction.streams()[0], at=MARCH, why="over")


def answered(transaction: Transaction) -> None:
    transaction.set_answer("visitors", 2, "12")


def begun(transaction: Transaction) -> None:
    transaction.begin_epoch(transaction.streams()[0], 2)


def seen_by_somebody(transaction: Transaction) -> None:
    transaction.add_intrusion(transaction.streams()[0], at=MARCH, why="a thief")


def looked_at(transaction: Transaction) -> None:
    transaction.set_checked(["digest"], MARCH)


def marked(transaction: Transaction) -> None:
    transaction.mark()


AHEAD = [
    (more_released, "streams or releases"),
    (more_events, "events of an open step"),
    (more_waiting, "events of an open step"),
    (more_batches, "events of an open step"),
    (more_spent, "payments"),
    (renewed, "renewals"),
    (another_budget, "budgets"),
    (revoked, "tokens or revocations"),
    (another_token, "tokens or revocations"),
    (retired, "retired streams"),
    (answered, "answers"),
    (begun, "restarts"),
    (seen_by_somebody, "intrusions"),
    (looked_at, "records"),
    (marked, "the mark of noise"),
]


@pytest.mark.parametrize(
    ("change", "what"), AHEAD, ids=lambda given: getattr(given, "__name__", "")
)
def test_a_store_that_has_more_is_not_replaced(
    store: Store, place: Place, tmp_path: Path, change: Callable[[Transaction], None], what: str
) -> None:
    write_backup(place.url, tmp_path / "b")
    with store.writing() as transaction:
        change(transaction)
    before = contents(store)
    with pytest.raises(StoreRefused, match=f"has {what}"):
        in_place_of(store, place, tmp_path)
    assert contents(store) == before


FURTHER = [more_released, more_spent, renewed, revoked, retired, answered, begun, marked]


@pytest.mark.parametrize("change", FURTHER, ids=lambda change: change.__name__)
def test_a_store_that_has_less_is_replaced(
    store: Store, place: Place, tmp_path: Path, change: Callable[[Transaction], None]
) -> None:
    write_backup(place.url, tmp_path / "old")
    with store.writing() as transaction:
        change(transaction)
        if change is retired:
            transaction.erase_secrets(transaction.streams()[0])
    write_backup(place.url, tmp_path / "b")
    newest = contents(store)
    second = SqlitePlace(_folder(tmp_path))
    with opened_backup(tmp_path / "old", work=tmp_path / "unpacked") as backup:
        restore(backup, second.url)
    if change is retired:  # its events went when it was retired, so it does not have less of them
        with open_store(second.url) as old, old.writing() as transaction:
            transaction.erase_secrets(transaction.streams()[0])
    with opened_backup(tmp_path / "b", work=tmp_path / "unpacked") as backup:
        restore(backup, second.url)
    with open_store(second.url, create=False) as after:
        assert contents(after) == newest


def _folder(above: Path) -> Path:
    folder = above / "second"
    folder.mkdir()
    return folder


def test_a_store_with_other_numbers_for_one_step_is_not_replaced(
    store: Store, place: Place, tmp_path: Path
) -> None:
    """Two copies went on, each with noise of its own."""
    write_backup(place.url, tmp_path / "old")
    with store.writing() as transaction:
        release(transaction, 2, 2.5)
        release(transaction, 3, 2.5)
    write_backup(place.url, tmp_path / "b")
    second = SqlitePlace(_folder(tmp_path))
    with opened_backup(tmp_path / "old", work=tmp_path / "unpacked") as backup:
        restore(backup, second.url)
    with open_store(second.url) as other:
        with other.writing() as transaction:
            release(transaction, 2, 3.5)
        with pytest.raises(StoreRefused, match="has releases"):
            in_place_of(other, second, tmp_path)


def test_another_store_is_not_replaced(store: Store, place: Place, tmp_path: Path) -> None:
    write_backup(place.url, tmp_path / "b")
    second = SqlitePlace(_folder(tmp_path))
    with new_store(second) as other:
        with other.writing() as transaction:
            transaction.set_checked(["another"], MARCH)
        with pytest.raises(StoreRefused, match="of another one"):
            in_place_of(other, second, tmp_path)


def test_nothing_is_restored_while_a_stream_runs(
    store: Store, place: Place, tmp_path: Path
) -> None:
    write_backup(place.url, tmp_path / "b")
    before = contents(store)
    with store.holding("flu"), pytest.raises(StoreRefused, match="run by another process"):
        in_place_of(store, place, tmp_path)
    assert contents(store) == before


def test_a_dry_run_changes_nothing(store: Store, place: Place, tmp_path: Path) -> None:
    write_backup(place.url, tmp_path / "b")
    before = contents(store)
    with opened_backup(tmp_path / "b", work=tmp_path / "unpacked") as backup:
        restore(backup, place.url, dry_run=True)
        restore(backup, str(tmp_path / "nowhere.db"), dry_run=True)
        assert not (tmp_path / "nowhere.db").exists()
        with store.writing() as transaction:
            more_released(transaction)
        with pytest.raises(StoreRefused, match="that the backup does not have"):
            restore(backup, place.url, dry_run=True)
    assert contents(store) != before


def test_what_the_sinks_refuse_changes_nothing(store: Store, place: Place, tmp_path: Path) -> None:
    write_backup(place.url, tmp_path / "b")

    def refuse(backup: Backup) -> None:
        assert [stream.released for stream in backup.streams] == [1]
        raise StoreRefused("A sink has more.")

    with (
        opened_backup(tmp_path / "b", work=tmp_path / "unpacked") as backup,
        pytest.raises(StoreRefused, match="A sink has more"),
    ):
        restore(backup, str(tmp_path / "nowhere.db"), check=refuse)
    assert not (tmp_path / "nowhere.db").exists()


def test_a_damaged_store_must_be_moved_away_first(
    store: Store, place: Place, tmp_path: Path
) -> None:
    write_backup(place.url, tmp_path / "b")
    damaged = SqlitePlace(_folder(tmp_path))
    damaged.path.write_bytes(b"not a database, and longer than the header of one" * 99)
    damaged.path.chmod(0o600)
    with pytest.raises(StoreRefused, match="is not a store") as refused:
        in_place_of(store, damaged, tmp_path)
    assert "move" in refused.value.tip
    damaged.path.rename(damaged.path.with_name("moved"))
    in_place_of(store, damaged, tmp_path)
    with open_store(damaged.url, create=False) as after:
        assert contents(after) == contents(store)


def test_what_is_permanent_is_permanent_again(store: Store, place: Place, tmp_path: Path) -> None:
    """A restore takes the guards of the tables away for a moment."""
    write_backup(place.url, tmp_path / "b")
    in_place_of(store, place, tmp_path)
    with place.connected() as connection:
        for statement in ("DELETE FROM entry", "UPDATE release SET value = 0"):
            with pytest.raises(place.errors, match="permanent"):
                connection.execute(statement)
