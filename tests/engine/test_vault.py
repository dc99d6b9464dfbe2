"""The vault: what goes in comes out, once, to its owner, and nowhere else."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.vault import EpochEnded, FileSlot, Sealed, Vault, cipher, record
from ameles.engine.vault.record import Holds, Record

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
        Vault.create(rig.folder, rig.slot, identity=IDENTITY, size=size)


def test_a_large_state(tmp_path: Path) -> None:
    large = os.urandom(1 << 20)
    slot = FileSlot(tmp_path / "keys" / "a.key")
    with Vault.create(tmp_path / "vault", slot, identity=IDENTITY, size=1 << 20) as vault:
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


def test_the_wrong_stream_epoch_or_size_is_refused(rig: Rig) -> None:
    with rig.create(epoch=2) as vault:
        save(vault, 1)
    where = dict(rig.where, epoch=2)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"identity": UUID(int=1)}, "another stream"),
        ({"size": SIZE + 1}, "48 bytes, not for 49"),
        ({"epoch": 1}, "is in epoch 2, and the store in 1"),
        ({"epoch": 3}, "no vault of epoch 3"),
    ]
    for change, words in changes:
        with pytest.raises(StoreRefused, match=words) as caught:
            Vault.open(rig.folder, rig.slot, **{**where, **change})
        assert not isinstance(caught.value, EpochEnded)
    with pytest.raises(StoreRefused, match="no vault"):
        Vault.open(rig.base / "elsewhere", rig.slot, **where)


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


def test_keys_are_new_each_time_and_wiped() -> None:
    keys = [cipher.fresh_key() for _ in range(100)]
    assert len({bytes(key) for key in keys}) == 100
    assert all(len(key) == cipher.KEY and any(key) for key in keys)
    cipher.wipe(*keys)
    assert not any(any(key) for key in keys)


def test_the_buffers_of_a_save_and_a_load_are_wiped(rig: Rig) -> None:
    wiped: list[bytearray] = []

    def wipe(*buffers: bytearray, old: Callable[..., None] = cipher.wipe) -> None:
        wiped.extend(buffers)
        old(*buffers)

    with patch.object(cipher, "wipe", wipe), rig.create() as vault:
        save(vault, 1)
        loaded(vault)
    assert len(wiped) >= 6  # a plaintext, a key and a sector each
    assert not any(any(buffer) for buffer in wiped)


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


def test_a_newer_slot_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    with rig.create() as vault:
        monkeypatch.setattr(record, "_VERSION", 2)
        save(vault, 1)
    monkeypatch.undo()
    with pytest.raises(StoreRefused, match="version 2") as caught:
        rig.open()
    assert not isinstance(caught.value, EpochEnded)


def test_one_at_a_time(rig: Rig, tmp_path: Path) -> None:
    with rig.create() as vault:
        save(vault, 1)
        with pytest.raises(StoreRefused, match="in use"):
            rig.open()
        with pytest.raises(StoreRefused, match="in use"):
            rig.create(epoch=2)
        # A copy of the folder is another folder, but its slot is the same.
        copied = tmp_path / "copied"
        copied.mkdir(mode=0o700)
        for file in rig.folder.iterdir():
            (copied / file.name).write_bytes(file.read_bytes())
        with pytest.raises(StoreRefused, match="in use"):
            Vault.open(copied, rig.slot, identity=IDENTITY, size=SIZE)
    with rig.open() as vault:
        assert loaded(vault) == 1


def test_a_forked_child_may_not_use_it(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
        child = os.fork()
        if child == 0:
            try:
                vault.load()
            except StoreRefused:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert loaded(vault) == 1


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


def test_no_refusal_shows_a_state_or_a_key(rig: Rig) -> None:
    canary = b"the canary sings."
    said = []
    with rig.create() as vault:
        vault.save(canary, step=1)
        key = rig.sector()[96:128]
        with (
            on(Disk((0, "before"), fail=OSError(5, str(canary)))),
            pytest.raises(StoreRefused) as failed,
        ):
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


LOOP = """
import sys
from pathlib import Path
from tests.engine.vault_faults import Rig, loaded, save
rig = Rig(Path(sys.argv[1]))
with rig.open() as vault:
    step = loaded(vault) or 0
    while True:
        step += 1
        save(vault, step)
        print(step, flush=True)
"""


def test_killed_in_the_middle_it_has_what_was_published(rig: Rig) -> None:
    rig.create().close()
    root = Path(__file__).parents[2]
    published = 0
    for kill in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(rig.base)], cwd=root, stdout=subprocess.PIPE, text=True
        )
        with child:
            assert child.stdout
            for _ in range(5 + 3 * kill):
                published = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            published = max([published, *map(int, child.stdout.read().split())])
        with rig.open() as vault:
            found = loaded(vault)
            assert found in (published, published + 1)
    assert found


SCAN = """
import gc, os, sys
from pathlib import Path
from ameles.engine.vault import cipher
from tests.engine.vault_faults import Rig, loaded, save
keys, held = [], []

def hidden(key):  # so that the list of keys is not itself what is found
    return bytes(byte ^ 0x5A for byte in key)

def fresh(old=cipher.fresh_key):
    key = old()
    keys.append(hidden(key))
    held.append(bytes(key) if sys.argv[2] == "keep" else None)
    return key

cipher.fresh_key = fresh
with Rig(Path(sys.argv[1])).create() as vault:
    for step in range(40):
        save(vault, step)
        loaded(vault)
gc.collect()
contents = []
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        span, mode = line.split()[:2]
        start, stop = (int(number, 16) for number in span.split("-"))
        if not mode.startswith("rw"):
            continue
        try:
            memory.seek(start)
            contents.append(memory.read(stop - start))
        except OSError:
            continue
print(sum(any(hidden(key)[:16] in content for content in contents) for key in keys))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads its own memory through /proc")
@pytest.mark.parametrize(("way", "count"), [("wipe", 0), ("keep", 40)])
def test_no_used_key_is_found_in_memory(tmp_path: Path, way: str, count: int) -> None:
    # No promise: the interpreter may copy as it likes.  On this one it does not.
    ended = subprocess.run(
        [sys.executable, "-c", SCAN, str(tmp_path), way],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ended.stdout) == count
