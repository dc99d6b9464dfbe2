"""The vault: what goes in comes out, once, to its owner, and nowhere else."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from uuid import UUID

import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.sealed.vault import (
    EpochEnded,
    FileSlot,
    Sealed,
    Vault,
    VaultPlace,
    cipher,
    record,
)
from ameles.engine.sealed.vault.record import Holds, Record

from .vault_faults import IDENTITY, SIZE, Disk, Rig, loaded, on, save, state


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_what_was_saved_last_is_loaded(rig: Rig) -> None:
    with rig.create() as vault:
        assert vault.load() is None
        assert vault.step is None
        for step in range(6):
            save(vault, step)
            assert loaded(vault) == step == vault.step
    for step in range(6, 9):
        with rig.open() as vault:
            assert loaded(vault) == step - 1
            save(vault, step)
    with rig.open() as vault:
        assert loaded(vault) == 8


@pytest.mark.parametrize(
    ("kept", "published"),
    [(b"", b""), (b"\0" * SIZE, b""), (b"", b"\xff" * SIZE), (b"ab", b"c"), (b"a" * 47, b"b")],
)
def test_any_state_and_releases_that_fit(rig: Rig, kept: bytes, published: bytes) -> None:
    with rig.create() as vault:
        vault.save(kept, published, step=3)
        assert vault.load() == Sealed(3, kept, published)


def test_a_vault_without_a_state_stays_one(rig: Rig) -> None:
    rig.create().close()
    with rig.open() as vault:
        assert vault.load() is None
        save(vault, 1)
    with rig.open() as vault:
        assert loaded(vault) == 1


def test_many_states_in_one_step_and_none_of_a_step_before(rig: Rig) -> None:
    with rig.create() as vault:
        vault.save(b"first", step=4)
        vault.save(b"second", step=4)
        with pytest.raises(BadInput, match="'step'"):
            vault.save(b"third", step=3)
        assert vault.load() == Sealed(4, b"second", b"")


def test_what_does_not_fit_changes_nothing_and_its_length_is_not_told(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
        before = rig.files()
        with pytest.raises(BadInput, match="do not fit into the 48 bytes") as caught:
            vault.save(b"s" * 40, b"r" * 33, step=2)
        assert "73" not in str(caught.value)
        assert rig.files() == before
        assert loaded(vault) == 1


@pytest.mark.parametrize("size", [0, -1, 1 << 31, 1.5])
def test_a_size_that_cannot_be_is_refused(rig: Rig, size: int) -> None:
    with pytest.raises(BadInput, match="'size'"):
        Vault.create(VaultPlace(rig.folder, rig.slot, identity=IDENTITY, size=size))


def test_a_large_state(tmp_path: Path) -> None:
    large = os.urandom(1 << 20)
    slot = FileSlot(tmp_path / "keys" / "a.key")
    with Vault.create(
        VaultPlace(tmp_path / "vault", slot, identity=IDENTITY, size=1 << 20)
    ) as vault:
        vault.save(large, step=1)
        assert vault.load() == Sealed(1, large, b"")


def test_nothing_that_is_seen_from_outside_depends_on_what_is_saved(tmp_path: Path) -> None:
    contents = [b"", b"\0" * SIZE, b"\xff" * SIZE, b"abc", state(1)]
    seen = []
    for number, content in enumerate(contents):
        rig = Rig(tmp_path / str(number) / "rig")
        with on(Disk()) as disk, rig.create() as vault:
            for step in range(4):
                vault.save(content[: 8 * step], content[8 * step :], step=step)
                vault.load()
        with on(disk), rig.open() as vault:
            vault.load()
            vault.erase()
        sizes = {name: len(data) for name, data in rig.files().items()}
        seen.append(([call.shape for call in disk.calls], sizes))
    assert all(other == seen[0] for other in seen)
    assert [call.kind for call in disk.calls].count("create") == 6, "all at the launch"


def test_the_ciphertext_is_tied_to_stream_epoch_step_and_generation() -> None:
    now = Record(holds=Holds.KEY, identity=IDENTITY, epoch=1, generation=7, step=5)
    key = cipher.fresh_key()
    sealed = cipher.seal(key, bytearray(b"plain"), now.bound())
    assert cipher.unseal(key, sealed, now.bound()) == bytearray(b"plain")
    others = [(UUID(int=2), 1, 7, 5), (IDENTITY, 2, 7, 5), (IDENTITY, 1, 6, 5), (IDENTITY, 1, 7, 4)]
    for identity, epoch, generation, step in others:
        other = Record(
            holds=Holds.KEY, identity=identity, epoch=epoch, generation=generation, step=step
        )
        assert cipher.unseal(key, sealed, other.bound()) is None
    for place in range(len(sealed)):
        bent = bytearray(sealed)
        bent[place] ^= 1
        assert cipher.unseal(key, bent, now.bound()) is None
    assert cipher.unseal(key, sealed[:3], now.bound()) is None


def test_a_sector_with_any_bit_changed_is_not_whole() -> None:
    now = Record(
        holds=Holds.KEY, identity=IDENTITY, epoch=1, generation=7, step=5, digest=b"d" * 32
    )
    sector = record.write(now, cipher.fresh_key())
    assert record.read(sector) == now
    for place in range(record.SECTOR):
        sector[place] ^= 4
        assert record.read(sector) is None
        sector[place] ^= 4
    assert record.read(sector[:511]) is None
    assert record.read(bytearray(512)) is None


def test_a_closed_vault_says_so(rig: Rig) -> None:
    vault = rig.create()
    vault.close()
    vault.close()
    for use in (vault.load, vault.erase, lambda: save(vault, 1)):
        with pytest.raises(StoreRefused, match="it was closed"):
            use()


def test_a_vault_cannot_be_copied_and_shows_nothing(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
        sealed = vault.load()
        assert repr(vault) == f"<Vault '{rig.folder}'>"
        assert repr(sealed) == "Sealed(step=1)"
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="only one"):
                way(vault)


def test_no_refusal_shows_a_state_or_a_key(rig: Rig) -> None:
    canary = b"the canary sings."
    said = []
    with on(Disk()) as disk, rig.create() as vault:
        vault.save(canary, step=1)
        key = rig.sector()[96:128]
        disk.arm((0, "before"), OSError(5, str(canary)))
        with pytest.raises(StoreRefused) as failed:
            vault.save(canary, step=2)
        said.append(repr(failed.value) + str(failed.value) + str(failed.value.__cause__))
        for content, step in [(canary * 9, 2), (canary, 0)]:
            with pytest.raises(BadInput) as refused:
                vault.save(content, step=step)
            said.append(repr(refused.value) + str(refused.value))
    rig.slot.place.write_bytes(b"\xff" * 4096)
    with pytest.raises(EpochEnded) as ended:
        rig.open()
    said.append(repr(ended.value) + str(ended.value))
    for text in said:
        assert "canary" not in text
        assert key.hex() not in text
        assert repr(key)[2:-1] not in text
