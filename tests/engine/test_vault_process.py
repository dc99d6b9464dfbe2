"""Vaults and processes: one at a time, killed at any moment, with nothing left in memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.vault import Vault, VaultPlace, cipher
from tests.warm_processes import start

from .vault_faults import IDENTITY, SIZE, Rig, loaded, save


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_keys_are_new_each_time_and_wiped() -> None:
    keys = [cipher.fresh_key() for _ in range(100)]
    assert len({bytes(key) for key in keys}) == 100
    assert all(len(key) == cipher.KEY and any(key) for key in keys)
    cipher.wipe(*keys)
    assert not any(any(key) for key in keys)


def test_without_random_bytes_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer that nobody has filled would be a key that everybody knows."""
    refusing = SimpleNamespace(getentropy=lambda buffer, size: -1)
    monkeypatch.setattr(cipher, "_SYSTEM", refusing)
    with pytest.raises(OSError, match="no random bytes"):
        cipher.fresh_key()


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
            Vault.open(VaultPlace(copied, rig.slot, identity=IDENTITY, size=SIZE))
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
        child = start("-c", LOOP, str(rig.base), cwd=root, stdout=subprocess.PIPE)
        with child:
            assert child.stdout
            for _ in range(5 + 3 * kill):
                published = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            published = max([published, *map(int, child.stdout.read().split())])
        with rig.open() as vault:
            step = loaded(vault)
            assert step in (published, published + 1)
    assert step


SCAN = """
import gc, os, sys
from pathlib import Path
from ameles.engine.sealed.vault import cipher
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
@pytest.mark.parametrize(("way", "least", "most"), [("wipe", 0, 2), ("keep", 40, 40)])
def test_used_keys_are_not_found_in_memory(tmp_path: Path, way: str, least: int, most: int) -> None:
    # No promise: the interpreter may copy as it likes, and the last key may be on its stack.  Seen
    # here: none of 40.
    ended = subprocess.run(
        [sys.executable, "-c", SCAN, str(tmp_path), way],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert least <= int(ended.stdout) <= most
