"""Disk images: the disks that a crash or a power cut may leave, computed from recorded changes.

A crash of the program leaves everything that it did up to then.  A power cut leaves each file as it
was at its last sync; of every later write the disk has all, some sectors or nothing, in any order.
Changes of names since a folder's last sync are kept up to some moment.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tests.faults.choices import Choices

KINDS = ("", "create", "write", "truncate", "sync", "rename", "unlink", "mkdir")
SECTOR = 512
Disk: TypeAlias = dict[str, bytes]  # files by their paths; a folder's ends with a stroke
_HEAD = struct.Struct("<BHHqQ")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file, as the shim writes it down."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes = field(repr=False)


def read_changes(log: Path) -> list[Change]:
    """All changes of a run, in order."""
    content, place, changes = log.read_bytes(), 0, []
    while place + _HEAD.size <= len(content):
        kind, path, other, offset, size = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        edges = (place, place + path, place + path + other)
        end = edges[2] + (size if KINDS[kind] == "write" else 0)
        if end > len(content):
            break  # it died while it wrote this down
        changes.append(
            Change(
                KINDS[kind],
                _plain(content[edges[0] : edges[1]]),
                _plain(content[edges[1] : edges[2]]),
                offset,
                content[edges[2] : end],
            )
        )
        place = end
    return changes


def add_changes(log: Path, changes: list[Change]) -> None:
    """What somebody else changed while a run waited, such as who writes its source."""
    with log.open("ab") as file:
        for change in changes:
            path, other = change.path.encode(), change.other.encode()
            kind, size = KINDS.index(change.kind), len(change.data)
            head = _HEAD.pack(kind, len(path), len(other), change.offset, size)
            file.write(head + path + other + change.data)


def lay_out(disk: Disk, folder: Path) -> None:
    """Makes a folder with these files in it, for nobody else to read."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path, content in disk.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            continue
        place.touch(mode=0o600)
        place.write_bytes(content)


def digest(disk: Disk) -> str:
    """Tells a disk from others."""
    mark = hashlib.sha256()
    for path, content in sorted(disk.items()):
        mark.update(repr((path, len(content))).encode() + content)
    return mark.hexdigest()


def _plain(path: bytes) -> str:
    """A path without steps back; the folder itself is empty."""
    plain = os.path.normpath(path.decode())
    return "" if plain == "." else plain


class _File:
    """What is surely on the disk, and what may be."""

    def __init__(self, content: bytes = b"") -> None:
        self.safe = bytearray(content)
        self.since: list[Change] = []

    def sync(self) -> None:
        for change in self.since:
            _apply(self.safe, change.offset, change.data, change.kind)
        self.since = []

    def now(self) -> bytes:
        """What a reader sees."""
        content = bytearray(self.safe)
        for change in self.since:
            _apply(content, change.offset, change.data, change.kind)
        return bytes(content)

    def after_power_cut(self, choices: Choices) -> bytes:
        """What a power cut may leave."""
        content = bytearray(self.safe)
        how = choices.one_of(("all", "none", "some", "torn"))
        cut = choices.below(len(self.since) + 1)
        for number, change in enumerate(self.since):
            if how == "none" or (how == "some" and choices.chance(50)):
                continue
            if how == "torn" and number >= cut:
                _tear(content, change, choices)
                continue
            _apply(content, change.offset, change.data, change.kind)
        return bytes(content)


def _tear(content: bytearray, change: Change, choices: Choices) -> None:
    if change.kind != "write":
        return
    for start in range(0, len(change.data), SECTOR):
        if choices.chance(50):
            piece = change.data[start : start + SECTOR]
            _apply(content, change.offset + start, piece, "write")


def _apply(content: bytearray, offset: int, data: bytes, kind: str) -> None:
    if kind == "truncate":
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


@dataclass
class _Folder:
    """Names that are surely on the disk, and what happened to them since."""

    safe: dict[str, object] = field(default_factory=dict)
    now: dict[str, object] = field(default_factory=dict)
    since: list[tuple[str, object | None, str]] = field(default_factory=list)

    def put(self, name: str, what: object | None, gone: str = "") -> None:
        self.since.append((name, what, gone))
        _rename(self.now, (name, what, gone))

    def sync(self) -> None:
        self.safe, self.since = dict(self.now), []

    def files(self, ending: str) -> dict[str, bytes]:
        """What a reader sees in the files whose names end so."""
        return {
            name: entry.now()
            for name, entry in self.now.items()
            if isinstance(entry, _File) and name.endswith(ending)
        }

    def after_power_cut(self, choices: Choices) -> dict[str, object]:
        names = dict(self.safe)
        kept = choices.below(len(self.since) + 1)
        for change in self.since[: len(self.since) if choices.chance(40) else kept]:
            _rename(names, change)
        return names


def _rename(names: dict[str, object], change: tuple[str, object | None, str]) -> None:
    name, what, gone = change
    if gone:
        names.pop(gone, None)
    if what is None:
        names.pop(name, None)
    else:
        names[name] = what


class DiskImages:
    """A folder before a run and what the run changed in it."""

    def __init__(self, before: dict[str, bytes], changes: list[Change]) -> None:
        self._before = before
        self.changes = changes

    @staticmethod
    def files(folder: Path) -> dict[str, bytes]:
        """All files of a folder, by their paths in it."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    def seen(self, cut: int, path: str) -> bytes | dict[str, bytes]:
        """What a reader saw in a file after so many changes, or in a folder of Parquet files."""
        folders = self._run(cut)
        above, _, name = path.rpartition("/")
        entry = folders[above].now.get(name) if above in folders else None
        if name.endswith(".parquet"):
            return entry.files(".parquet") if isinstance(entry, _Folder) else {}
        return entry.now() if isinstance(entry, _File) else b""

    def after_power_cut(self, cut: int, choices: Choices) -> Disk:
        """A disk that a power cut after so many changes may leave."""
        disk: Disk = {}
        _put(disk, "", self._run(cut)[""], choices)
        return disk

    def after_crash(self, at: int, mode: str) -> Disk:
        """The disk after a crash before, amid or after a change, counted from 1."""
        folders = self._run(at if mode == "after" else at - 1)
        change = self.changes[at - 1]
        if mode == "torn":
            half = change.data[: len(change.data) // 2]
            torn = Change(change.kind, change.path, change.other, change.offset, half)
            if half or change.kind != "write":
                _do(folders, torn)
        disk: Disk = {}
        _put(disk, "", folders[""], None)
        return disk

    def _run(self, cut: int) -> dict[str, _Folder]:
        folders = {"": _Folder()}
        for path, content in self._before.items():
            above, _, name = path.rpartition("/")
            _make(folders, above).now[name] = _File(content)
        for held in folders.values():
            held.sync()
        for change in self.changes[:cut]:
            _do(folders, change)
        return folders


def _put(disk: Disk, path: str, held: _Folder, choices: Choices | None) -> None:
    """Adds a folder; with choices, what a power cut leaves of it."""
    names = held.now if choices is None else held.after_power_cut(choices)
    for name, entry in sorted(names.items()):
        if isinstance(entry, _Folder):
            disk[f"{path}{name}/"] = b""
            _put(disk, f"{path}{name}/", entry, choices)
        elif isinstance(entry, _File):
            disk[path + name] = entry.now() if choices is None else entry.after_power_cut(choices)


def _make(folders: dict[str, _Folder], path: str) -> _Folder:
    if path not in folders:
        above, _, name = path.rpartition("/")
        folders[path] = _Folder()
        _make(folders, above).now[name] = folders[path]
    return folders[path]


def _do(folders: dict[str, _Folder], change: Change) -> None:
    above, _, name = change.path.rpartition("/")
    if change.kind == "sync" and change.path in folders:
        folders[change.path].sync()
        return
    held = folders[above]
    match change.kind:
        case "mkdir":
            folders[change.path] = _Folder()
            held.put(name, folders[change.path])
        case "create":
            held.put(name, _File())
        case "unlink":
            held.put(name, None)
            folders.pop(change.path, None)
        case "rename":
            held.put(change.other.rpartition("/")[2], held.now[name], gone=name)
            if change.path in folders:
                folders[change.other] = folders.pop(change.path)
        case _:
            file = held.now[name]
            if isinstance(file, _File):
                if change.kind == "sync":
                    file.sync()
                else:
                    file.since.append(change)
