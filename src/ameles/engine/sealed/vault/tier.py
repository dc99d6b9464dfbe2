"""How well overwriting erases the slot, as a sentence: it depends on the file system and the disk.

    memory        in RAM: no disk has it, and a reboot ends the epoch
    in place      the file system writes over the old bytes, and the disk says that it is rotating
    best effort   old bytes may stay for a while: copy-on-write, data journals, flash
    unknown       nothing is known about the file system

This is what the machine can see.  A virtual disk, a disk array or a snapshot below the file system
may keep old sectors, and no program on this machine can tell.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_MEMORY = {0x01021994: "tmpfs", 0x858458F6: "ramfs"}
_IN_PLACE = {0xEF53: "ext4", 0x4D44: "FAT", 0x2011BAB0: "exFAT", 0x3153464A: "JFS"}
_COPIES = {
    0x9123683E: "btrfs",
    0x2FC12FC1: "ZFS",
    0x794C7630: "overlay",
    0x58465342: "XFS",
    0xCA451A4E: "bcachefs",
    0xF2F52010: "F2FS",
    0x3434: "NILFS",
    0x24051905: "UBIFS",
    0x72B6: "JFFS2",
}
_LONGEST = 512  # bytes; more than struct statfs has anywhere


def magic(handle: int) -> int:
    """The number by which Linux knows the type of a file system; 0 elsewhere."""
    if sys.platform != "linux":
        return 0
    # os.statvfs does not have it; it is the first word of struct statfs.
    answer = (ctypes.c_long * (_LONGEST // ctypes.sizeof(ctypes.c_long)))()
    if ctypes.CDLL(None).fstatfs(handle, answer) != 0:
        return 0
    return int(answer[0]) & 0xFFFFFFFF


def in_memory(handle: int) -> bool:
    """Whether a file or folder is only in RAM or swap."""
    return magic(handle) in _MEMORY


def tier(handle: int) -> str:
    """How well a key that was overwritten in this file is erased, and why not better."""
    number = magic(handle)
    device = os.fstat(handle).st_dev
    if number in _MEMORY:
        swap = "; swap is on, through which it can reach a disk" if _swaps() else ""
        return f"memory: the slot is in RAM ({_MEMORY[number]}); a reboot ends the epoch{swap}"
    if number in _COPIES:
        return (
            f"best effort: {_COPIES[number]} may write a sector elsewhere and leave the old one "
            "until its space is used again"
        )
    if number in _IN_PLACE:
        if _journals_data(device):
            return "best effort: the file system is mounted with data=journal, which keeps copies"
        if not _turns(device):
            return (
                "best effort: the disk is flash, or does not say; flash writes a sector elsewhere "
                "and erases the old one later"
            )
        return f"in place: {_IN_PLACE[number]} writes over the old sector"
    return "unknown: how this place stores an overwritten sector cannot be seen"


def _swaps() -> bool:
    return any(not line.startswith("/dev/zram") for line in _lines(Path("/proc/swaps"))[1:])


def _journals_data(device: int) -> bool:
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(
        line.split()[2] == number and "data=journal" in line
        for line in _lines(Path("/proc/self/mountinfo"))
    )


def _turns(device: int) -> bool:
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    # A partition has no queue of its own; the folder above it belongs to its disk.
    for place in (block, block.parent):
        if lines := _lines(place / "queue" / "rotational"):
            return lines[0] == "1"
    return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
