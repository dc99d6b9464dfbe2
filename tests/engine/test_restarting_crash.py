"""A crash or a reboot at any instant of a restart leaves one epoch, counted once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors import durable
from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.restart import Restarting
from ameles.engine.sealed.vault import EpochEnded, disk
from ameles.store import EpochRecord
from tests.engine.lost_states import TOTAL, epochs, feed, lose_key, reserving
from tests.engine.test_sealed import Sealed
from tests.engine.worlds import row


class Crash(BaseException):
    """The machine stops."""


CHANGES: tuple[tuple[Any, str], ...] = (
    (disk, "write"),
    (disk, "put"),
    (disk, "sync_names"),
    (durable, "replace"),
)


def crashing(patch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Stops at the change of this number, just before it; tells how many there were."""
    done = 0

    def watched(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **more: Any) -> Any:
            nonlocal done
            done += 1
            if done == at:
                raise Crash
            return change(*given, **more)

        return changed

    for place, name in CHANGES:
        patch.setattr(place, name, watched(getattr(place, name)))
    for name in ("_count", "_begin"):  # after a commit, too
        real = getattr(Restarting, name)
        patch.setattr(
            Restarting, name, lambda self, *given, real=real: (real(self, *given), watched(int)())
        )
    return lambda: done


def survives(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Crashes a restart at each of its changes; how many there are."""
    world = reserving(Sealed(folder / "world", TOTAL), 1)
    feed(world, [row(1)])
    lose_key(world)
    shutil.copytree(folder / "world", folder / "lost")
    for at in range(1, 100):
        shutil.rmtree(folder / "world")
        shutil.copytree(folder / "lost", folder / "world")
        with monkeypatch.context() as patch:
            count = crashing(patch, at)
            try:
                feed(world, restart="a theft")
            except Crash:
                crashed = True
            else:
                crashed = False
        # the old epoch, which has ended, or the new one: never both, and counted once
        if not epochs(world):
            with pytest.raises(EpochEnded, match="1 of 1 are left"):
                feed(world)
            feed(world, restart="a theft")
        feed(world, [row(1)] * 2)
        (noted,) = epochs(world)
        assert noted.begun
        assert world.values("visits", "") == [1, 3]
        if not crashed:
            return count()
    raise AssertionError


def test_a_crash_at_any_change_leaves_one_epoch_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert survives(tmp_path, monkeypatch) > 10


class VaultFirst(Restarting):
    """Makes the vault before it counts the restart."""

    def _count(self, why: str, used: int, *, seen: bool = False) -> int:
        with self.store.reading() as transaction:
            known = transaction.epochs(self.stream)
        if not known:
            self._begin(EpochRecord(2, self.stream.released, self.stream.launched, why, b"", False))
        return super()._count(why, used, seen=seen)


def test_a_vault_that_is_made_before_it_is_counted_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.engine.engine.Restarting", VaultFirst)
    with pytest.raises((AssertionError, StoreRefused, pytest.fail.Exception)):
        survives(tmp_path, monkeypatch)


def test_a_reboot_in_the_middle_of_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [row(1)])
    lose_key(world)

    def dies(*given: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("ameles.store.epochs.Epochs.begin_epoch", dies)
        with pytest.raises(Crash):
            feed(world, restart="a theft")
    lose_key(world)
    with pytest.raises(EpochEnded, match="1 of 2 are left"):
        feed(world)
    feed(world, [row(1)], restart="and a reboot")
    assert world.values("visits", "") == [1, 2]
    assert [epoch.begun for epoch in epochs(world)] == [False, True]
