"""A process that ends anywhere: the vault has the old state or the new one, never both.

Every change that the vault makes to the disk is counted, and stopped before it, after it, and
after each of its bytes.  Then everything on the disk is read by someone who tries all 32 bytes in a
row as a key, and the vault is opened again.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.vault import EpochEnded, Vault, cipher, record
from ameles.engine.sealed.vault.slot import KeySlot

from .vault_faults import Call, Disk, Killed, Rig, loaded, on, readable, rigs, save, saved, stops


def changes(rig: Rig, act: Callable[[], object]) -> list[Call]:
    with on(Disk()) as disk:
        act()
    return disk.calls


def stopped_save(rig: Rig, before: int, stop: tuple[int, str | int]) -> tuple[bytes, Disk]:
    """A vault with so many states, and one more save that is stopped; the sector before it."""
    with on(Disk()) as disk:
        vault = saved(rig, before)
        old = rig.sector()
        disk.arm(stop)
        with suppress(Killed):
            save(vault, before)
        vault.close()
    return old, disk


def save_calls(before: int) -> list[Call]:
    with rigs() as fresh:
        return stopped_save(fresh(), before, (-1, "after"))[1].calls


def check_recovery(rig: Rig, before: int, old: bytes, disk: Disk) -> str:
    """Old, new or ended, as it must be; and never two states that can be read."""
    steps = range(before + 1)
    states = readable(rig.files(), steps)
    assert len(states) <= 1, f"two states can be read: {sorted(states)}"
    written = [call for call in disk.calls if call.path == rig.slot.place]
    wanted = None if before == 0 else before - 1
    if written and written[0].data:
        sector = rig.sector()
        if sector != old and record.read(bytearray(sector)) is None:
            with pytest.raises(EpochEnded, match="has ended"):
                rig.open()
            return "ended"
        wanted = wanted if sector == old else before
    with rig.open() as vault:
        assert loaded(vault) == wanted
        now = set() if wanted is None else {wanted}
        assert readable(rig.files(), steps) == now, "what can be read is what is loaded"
        save(vault, before + 1)
        assert loaded(vault) == before + 1
    return "new" if wanted == before else "old"


@pytest.mark.parametrize(("before", "every"), [(0, 8), (1, 1), (2, 8)])
def test_a_save_that_is_stopped_anywhere(before: int, every: int) -> None:
    points = stops(save_calls(before), every=every)
    seen = {"old": 0, "new": 0, "ended": 0}
    with rigs() as fresh:
        for stop in points:
            rig = fresh()
            old, disk = stopped_save(rig, before, stop)
            seen[check_recovery(rig, before, old, disk)] += 1
    # Two writes of 72 bytes and one of 512, each stopped in all places, and two syncs.
    assert sum(seen.values()) == len(points) == (72 + 512 + 72) // every - 3 + 5 * 2
    assert all(count > 70 // every for count in seen.values())


@pytest.mark.parametrize("before", [0, 2])
def test_at_every_instant_of_a_life_at_most_one_state_can_be_read(before: int) -> None:
    with rigs() as fresh, on(Disk()) as disk:
        rig = fresh()
        instants = 0

        def look() -> None:
            nonlocal instants
            instants += 1
            assert len(readable(rig.files(), range(before + 12))) <= 1

        disk.watch = look
        with rig.create() as vault:
            for step in range(before + 10):
                save(vault, step)
                assert readable(rig.files(), range(before + 12)) == {step}
        with rig.open() as vault:
            vault.erase()
        assert readable(rig.files(), range(before + 12)) == set()
    assert instants > 60


def test_a_launch_that_is_stopped_anywhere_is_done_again() -> None:
    with rigs() as fresh:
        calls = changes(rig := fresh(), lambda: rig.create().close())
        points = stops(calls, every=64)
        for stop in points:
            rig = fresh()
            with on(Disk(stop)), pytest.raises(Killed):
                rig.create()
            if Vault.begun(rig.folder):
                rig.open().close()
            else:
                with pytest.raises(StoreRefused, match="no vault"):
                    rig.open()
                rig.create().close()
            with rig.open() as vault:
                assert vault.load() is None
                save(vault, 1)
                assert loaded(vault) == 1
    assert len(points) > 100


@pytest.mark.parametrize("torn", [False, True])
def test_a_restart_that_is_stopped_anywhere_is_done_again(torn: bool) -> None:
    def over(rig: Rig) -> None:
        with saved(rig, 2) as vault:
            if not torn:
                vault.erase()
        if torn:
            whole = rig.slot.place.read_bytes()
            rig.slot.place.write_bytes(whole[:500] + bytes(12) + whole[512:])

    with rigs() as fresh:
        over(rig := fresh())
        points = stops(changes(rig, lambda: rig.create(epoch=2).close()), every=16)
        for stop in points:
            over(rig := fresh())
            with on(Disk(stop)), pytest.raises(Killed):
                rig.create(epoch=2)
            assert len(readable(rig.files(), range(2))) <= 1
            if not Vault.begun(rig.folder, epoch=2):
                with pytest.raises(EpochEnded, match="has ended"):
                    rig.open()
                rig.create(epoch=2).close()
            with rig.open(epoch=2) as vault:
                assert vault.load() is None
                assert not readable(rig.files(), range(2))
    assert len(points) > 50


@pytest.mark.parametrize("before", [0, 1, 2])
def test_opening_that_is_stopped_anywhere_changes_nothing(before: int) -> None:
    with rigs() as fresh:
        saved(rig := fresh(), before).close()
        points = stops(changes(rig, lambda: rig.open().close()), every=4)
        for stop in points:
            saved(rig := fresh(), before).close()
            with on(Disk(stop)), pytest.raises(Killed):
                rig.open()
            with rig.open() as vault:
                assert loaded(vault) == (before - 1 if before else None)
    assert len(points) > 125


def test_an_erasure_that_is_stopped_anywhere_ends_or_does_not() -> None:
    def erased(rig: Rig, stop: tuple[int, str | int] | None) -> list[Call]:
        with on(Disk()) as disk, saved(rig, 3) as vault:
            disk.arm(stop)
            with suppress(Killed):
                vault.erase()
            return disk.calls

    with rigs() as fresh:
        points = stops(erased(fresh(), None), every=4)
        for stop in points:
            erased(rig := fresh(), stop)
            assert readable(rig.files(), range(3)) <= {2}
            with suppress(EpochEnded), rig.open() as vault:
                assert loaded(vault) == 2
    assert len(points) > 150


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_a_disk_that_refuses(code: int) -> None:
    with rigs() as fresh:
        for number, call in enumerate(save_calls(2)):
            with on(Disk()) as disk, saved(rig := fresh(), 2) as vault:
                disk.arm((number, "before"), OSError(code, "said"))
                if number == 4:  # the older ciphertext has no key: it may wait
                    save(vault, 2)
                    assert loaded(vault) == 2
                    continue
                with pytest.raises(StoreRefused, match="cannot be written"):
                    save(vault, 2)
                if call.path.name != rig.slot.place.name:
                    assert loaded(vault) == 1
                    save(vault, 2)
                    assert loaded(vault) == 2
                else:
                    # Nobody knows what the disk has, so nothing may be published.
                    with pytest.raises(StoreRefused, match="interrupted"):
                        vault.load()
                    with pytest.raises(StoreRefused, match="interrupted"):
                        save(vault, 2)
            with rig.open() as vault:
                assert loaded(vault) in (1, 2)


# What these tests are for: vaults that would be easier to write.


def key_first(vault: Vault, *args: Any, **named: Any) -> None:
    """Commits before the ciphertext is there."""
    write = vault._opened.overwrite
    late: list[Any] = []
    with patch(
        "ameles.engine.sealed.vault.opening.OpenedVault.overwrite",
        lambda _, *arguments: late.append(arguments),
    ):
        GOOD(vault, *args, **named)
    write(*late[0])


def both_keys(slot: KeySlot, sector: bytearray) -> None:
    """Keeps the old sector behind the new one, so that a torn one can be put right."""
    old = slot.read()
    WRITE(slot, bytearray(sector + old))


def one_key_for_all() -> bytearray:
    """A key that is the same for all states: the files alone are overwritten."""
    return bytearray(range(1, 33))


GOOD = Vault.save
WRITE = KeySlot.write


def run_broken(name: str, broken: Callable[..., Any]) -> None:
    with patch(name, broken):
        for before in (1, 2):
            with rigs() as fresh:
                points = stops(stopped_save(fresh(), before, (-1, "after"))[1].calls, every=8)
                for stop in points:
                    rig = fresh()
                    old, disk = stopped_save(rig, before, stop)
                    check_recovery(rig, before, old, disk)


@pytest.mark.parametrize(
    ("name", "broken", "caught", "words"),
    [
        ("ameles.engine.sealed.vault.Vault.save", key_first, EpochEnded, "has ended"),
        ("ameles.engine.sealed.vault.slot.KeySlot.write", both_keys, AssertionError, "two states"),
        (
            "ameles.engine.sealed.vault.cipher.fresh_key",
            one_key_for_all,
            AssertionError,
            "two states",
        ),
    ],
)
def test_a_broken_vault_is_caught(
    name: str, broken: Callable[..., Any], caught: type[BaseException], words: str
) -> None:
    with pytest.raises(caught, match=words):
        run_broken(name, broken)


def test_the_vault_itself_passes_what_catches_the_broken_ones() -> None:
    run_broken("ameles.engine.sealed.vault.cipher.fresh_key", cipher.fresh_key)
