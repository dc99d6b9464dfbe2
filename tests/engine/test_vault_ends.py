"""When a vault has no state any more, or is not the one that was asked for: a sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.vault import EpochEnded, Vault, VaultPlace, record

from .vault_faults import SIZE, Rig, loaded, save


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_the_wrong_stream_epoch_or_size_is_refused(rig: Rig) -> None:
    with rig.create(epoch=2) as vault:
        save(vault, 1)
    where = dict(rig.where, epoch=2)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"identity": UUID(int=1)}, "another stream"),
        ({"size": SIZE + 1}, "48 bytes, not for 49"),
        ({"epoch": 1}, "is in epoch 2, but the store is in 1"),
        ({"epoch": 3}, "no vault of epoch 3"),
    ]
    for change, words in changes:
        with pytest.raises(StoreRefused, match=words) as caught:
            Vault.open(VaultPlace(rig.folder, rig.slot, **{**where, **change}))
        assert not isinstance(caught.value, EpochEnded)
    with pytest.raises(StoreRefused, match="no vault"):
        Vault.open(VaultPlace(rig.base / "elsewhere", rig.slot, **where))


def test_a_newer_slot_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    with rig.create() as vault:
        monkeypatch.setattr(record, "_VERSION", 2)
        save(vault, 1)
    monkeypatch.undo()
    with pytest.raises(StoreRefused, match="version 2") as caught:
        rig.open()
    assert not isinstance(caught.value, EpochEnded)


def test_an_erased_vault_has_nothing_left(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
        save(vault, 2)
        vault.erase()
    assert not any(any(data) for name, data in rig.files().items() if "state." in name)
    assert not any(rig.sector()[96:128])
    with pytest.raises(EpochEnded, match="it was erased"):
        rig.open()
    with pytest.raises(StoreRefused, match="was made before"):
        rig.create()
    with rig.create(epoch=2) as vault:
        assert vault.load() is None
        save(vault, 0)
        assert loaded(vault) == 0


def test_an_epoch_begins_once_and_only_after_the_one_before(rig: Rig) -> None:
    assert not Vault.begun(rig.folder)
    rig.create().close()
    assert Vault.begun(rig.folder)
    assert not Vault.begun(rig.folder, epoch=2)
    with pytest.raises(StoreRefused, match="was made before"):
        rig.create()
    with rig.open() as vault:
        save(vault, 1)
    with pytest.raises(StoreRefused, match="a state that can be read"):
        rig.create(epoch=2)
    with rig.open() as vault:
        assert loaded(vault) == 1, "a refusal changes nothing"


def test_a_lost_folder_does_not_begin_the_epoch_again(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
    for file in rig.folder.iterdir():
        file.unlink()
    with pytest.raises(StoreRefused, match="no vault"):
        rig.open()
    with pytest.raises(StoreRefused, match="was made before"):
        rig.create()
    rig.create(epoch=2).close()


def test_a_torn_slot_ends_the_epoch_and_the_next_one_clears_it(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
    whole = rig.slot.place.read_bytes()
    rig.slot.place.write_bytes(whole[:300] + b"\xff" + whole[301:])
    with pytest.raises(EpochEnded, match="has ended") as caught:
        rig.open()
    assert "torn" in caught.value.why
    assert caught.value.exit_code == 4
    assert whole[96:128] in rig.slot.place.read_bytes()
    with rig.create(epoch=2) as vault:
        assert vault.load() is None
        assert whole[96:128] not in rig.slot.place.read_bytes()


def test_a_lost_slot_ends_the_epoch(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
    rig.slot.place.unlink()
    with pytest.raises(EpochEnded, match="has ended"):
        rig.open()
    with pytest.raises(StoreRefused, match="was made before"):
        rig.create()
    rig.create(epoch=2).close()


@pytest.mark.parametrize("harm", ["missing", "short", "long", "changed", "older"])
def test_a_damaged_ciphertext_ends_the_epoch(rig: Rig, harm: str) -> None:
    with rig.create() as vault:
        save(vault, 1)
        file = rig.folder / "state.1"
        older = file.read_bytes()
        save(vault, 2)
        save(vault, 3)
    content = file.read_bytes()
    match harm:
        case "missing":
            file.unlink()
        case "short":
            file.write_bytes(content[:-1])
        case "long":
            file.write_bytes(content + b"\0")
        case "changed":
            file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "older":
            file.write_bytes(older)
    with pytest.raises(EpochEnded, match="has ended") as caught:
        rig.open()
    assert "missing or damaged" in caught.value.why
    rig.create(epoch=2).close()


def test_damage_while_it_is_open_is_seen(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
        (rig.folder / "state.1").write_bytes(b"")
        with pytest.raises(EpochEnded, match="has ended"):
            vault.load()
    rig = Rig(rig.base / "other")
    with rig.create() as vault:
        save(vault, 1)
        rig.slot.place.write_bytes(bytes(4096))
        with pytest.raises(EpochEnded, match="has ended"):
            vault.load()


def test_a_header_that_is_damaged_or_newer_is_refused(rig: Rig) -> None:
    rig.create().close()
    header = rig.folder / "vault.json"
    text = header.read_text()
    for other in ["", "{}", text.replace('"version":1', '"version":2'), text.replace("6f1c", "xx")]:
        header.write_text(other)
        with pytest.raises(StoreRefused) as caught:
            rig.open()
        assert not isinstance(caught.value, EpochEnded)
