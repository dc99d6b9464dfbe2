"""A power cut: of what was written and not synced, any part may be on the disk, or nothing.

The changes that a vault makes are recorded.  For every instant all disks are made that a power cut
there can leave: each write since the last sync of its file is dropped, whole, or torn, in any
order; names since the last sync of their folder are there up to any of them.  From each disk the
vault is opened: what was published is there, and never two states can be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import permutations, product
from pathlib import Path
from unittest.mock import patch

import pytest

from ameles.engine.sealed.vault import EpochEnded, Vault, opening, record
from ameles.engine.sealed.vault.record import Record

from .vault_faults import Call, Disk, Killed, Rig, loaded, on, readable, rigs, save


@dataclass
class Platter:
    """What is surely on the disk, and what may be; files have numbers, because names change."""

    names: dict[Path, int] = field(default_factory=dict)
    contents: list[bytes] = field(default_factory=list)
    cached: dict[Path, int] = field(default_factory=dict)
    writes: list[list[Call]] = field(default_factory=list)
    moves: list[tuple[Call, int]] = field(default_factory=list)

    def take(self, call: Call) -> None:
        match call.kind:
            case "create":
                self.cached[call.path] = len(self.contents)
                self.moves.append((call, len(self.contents)))
                self.contents.append(b"")
                self.writes.append([])
            case "write" | "resize":
                self.writes[self.cached[call.path]].append(call)
            case "sync":
                number = self.cached[call.path]
                for write in self.writes[number]:
                    self.contents[number] = applied(self.contents[number], write)
                self.writes[number] = []
            case "rename":
                assert call.target
                self.cached[call.target] = self.cached.pop(call.path)
                self.moves.append((call, self.cached[call.target]))
            case "sync names":
                mine = [move for move in self.moves if move[0].path.parent == call.path]
                self.names = self.moved(mine)
                self.moves = [move for move in self.moves if move not in mine]

    def moved(self, moves: list[tuple[Call, int]]) -> dict[Path, int]:
        names = dict(self.names)
        for call, number in moves:
            names.pop(call.path, None)
            names[call.target or call.path] = number
        return names

    def disks(self, every: int) -> Iterator[dict[Path, bytes]]:
        """All that a power cut now can leave, with writes torn after every so many bytes."""
        for count in range(len(self.moves) + 1):
            names = self.moved(self.moves[:count])
            numbers = sorted(set(names.values()))
            choices = [outcomes(self.contents[n], self.writes[n], every) for n in numbers]
            for chosen in product(*choices):
                contents = dict(zip(numbers, chosen, strict=True))
                yield {path: contents[number] for path, number in names.items()}


def outcomes(content: bytes, writes: list[Call], every: int) -> set[bytes]:
    """The contents of a file after any part of these writes, in any order."""
    contents = set()
    for order in permutations(writes):
        # None is the whole of a write; nothing of it is a part of no bytes.
        for parts in product(*([None, *range(0, len(call.data), every)] for call in order)):
            now = content
            for call, part in zip(order, parts, strict=True):
                now = applied(now, call, part)
            contents.add(now)
    return contents


def applied(content: bytes, call: Call, part: int | None = None) -> bytes:
    if call.kind == "resize":
        return content[: call.offset].ljust(call.offset, b"\0")
    data = call.data[:part]
    if not data:
        return content
    end = call.offset + len(data)
    return content[: call.offset].ljust(call.offset, b"\0") + data + content[end:]


def laid_out(disk: dict[Path, bytes], old: Rig, fresh: Rig) -> Rig:
    """The disk that was found, as files."""
    for folder in (fresh.folder, fresh.slot.place.parent):
        folder.mkdir(parents=True, mode=0o700)
    for path, content in disk.items():
        target = str(path).replace(str(old.base), str(fresh.base), 1)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
    return fresh


@dataclass
class Cuts:
    """How many disks were tried, and on how many of them the epoch had ended."""

    disks: int = 0
    ended: int = 0

    def cut(self, rig: Rig, disk: dict[Path, bytes], fresh: Rig, published: int) -> None:
        self.disks += 1
        again = laid_out(disk, rig, fresh)
        files = {path.name: content for path, content in disk.items()}
        assert len(readable(files, range(9))) <= 1, "two states can be read"
        if not Vault.begun(again.folder):
            assert published < 0, "published, and the vault is gone"
            return
        try:
            with again.open() as vault:
                step = loaded(vault)
        except EpochEnded:
            sector = bytearray(disk.get(rig.slot.place, b"")[: record.SECTOR])
            assert record.read(sector) is None, "ended, though the slot is whole"
            self.ended += 1
            return
        assert (-1 if step is None else step) >= published, "published, and then gone"


def run(
    steps: int,
    every: int,
    *,
    kill: tuple[int, str | int] | None = None,
    record_on: Callable[[], Disk] = Disk,
) -> Cuts:
    """A life of some steps, each published when its save has returned, and a cut at every call.

    With ``kill`` the process ends in one more save, and another one opens what is in the cache.
    """
    published: dict[int, int] = {}
    with rigs() as fresh:
        rig = fresh()
        with on(record_on()) as disk:
            with rig.create() as vault:
                for step in range(steps):
                    save(vault, step)
                    published[len(disk.calls) - 1] = step
                if kill:
                    disk.stop = (disk.count + kill[0], kill[1])
                    with suppress(Killed):
                        save(vault, steps)
            if kill:
                disk.stop, disk.dead = None, False
                with suppress(EpochEnded), rig.open() as vault:
                    now = loaded(vault)
                    assert now is not None
                    published[len(disk.calls) - 1] = now
        platter, cuts, last = Platter(), Cuts(), -1
        tried: set[frozenset[tuple[Path, bytes]]] = set()
        for number, call in enumerate(disk.calls):
            platter.take(call)
            if number in published:
                last = published[number]
                tried.clear()  # what was good enough before need not be so now
            for contents in platter.disks(every):
                if (content := frozenset(contents.items())) not in tried:
                    tried.add(content)
                    cuts.cut(rig, contents, fresh(), last)
    return cuts


def test_whatever_a_power_cut_leaves() -> None:
    cuts = run(3, 8)
    assert cuts.disks > 500
    assert cuts.ended > 30


def test_a_slot_that_is_torn_at_any_byte() -> None:
    cuts = run(1, 1)
    assert cuts.disks > 4000
    assert cuts.ended > 90, "each with other bytes"


KILLS = [(number, when) for number in range(5) for when in ("before", "after")]


@pytest.mark.parametrize("kill", [*KILLS, (0, 40), (2, 100), (2, 511), (4, 40)])
def test_what_was_in_the_cache_is_on_the_disk_before_it_is_published(
    kill: tuple[int, str | int],
) -> None:
    assert run(1, 128, kill=kill).disks > 20


@dataclass
class Lazy(Disk):
    """A vault that lets the system write some file when it likes."""

    name: str = ""

    def fdatasync(self, handle: int) -> None:
        if self.paths[handle].name != self.name:
            super().fdatasync(handle)


def trusting(opened: opening.OpenedVault) -> Record:
    """Reads the slot, and does not make sure that it is on the disk."""
    with patch("ameles.engine.sealed.vault.slot.KeySlot.write", lambda *_: None):
        return RECOVER(opened)


RECOVER = opening._recover


@pytest.mark.parametrize(
    ("name", "words"),
    [("flu.key", "published, and then gone"), ("state.1", "ended, though the slot is whole")],
)
def test_a_vault_that_does_not_sync_is_caught(name: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        run(2, 128, record_on=lambda: Lazy(name=name))


@pytest.mark.parametrize("kill", KILLS)
def test_a_vault_that_trusts_what_it_reads_is_caught(kill: tuple[int, str | int]) -> None:
    # The third call writes the key and the fourth syncs it: in between it is in the cache alone.
    unsafe = kill in ((2, "after"), (3, "before"))
    caught = pytest.raises(AssertionError, match=r"though the slot is whole|and then gone")
    with patch.object(opening, "_recover", trusting), caught if unsafe else nullcontext():
        run(1, 128, kill=kill)
