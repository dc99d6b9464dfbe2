"""Files that are overwritten in place, and are on the disk when the call returns."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from ameles.core.exceptions import StoreRefused

OWNER_ONLY = 0o600
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def sync(handle: int) -> None:
    """Flushes a file to the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # a plain sync leaves it in the disk's cache
    else:
        os.fdatasync(handle)


def sync_names(folder: int) -> None:
    """Flushes a folder to the disk: the names of files that were created or renamed there."""
    os.fsync(folder)


def write(handle: int, content: bytes | bytearray, *, durably: bool = True) -> None:
    """Overwrites a file from its start, in one system call if the system takes it all at once."""
    rest = memoryview(content)
    at = 0
    while rest:
        written = os.pwrite(handle, rest, at)
        at += written
        rest = rest[written:]
    if durably:
        sync(handle)


def read(handle: int, length: int) -> bytearray:
    """The first bytes of a file in a buffer that can be wiped; fewer if it has fewer."""
    buffer = bytearray(length)
    at = 0
    while at < length:
        got = os.preadv(handle, [memoryview(buffer)[at:]], at)
        if got == 0:
            break
        at += got
    del buffer[at:]
    return buffer


def resize(handle: int, length: int) -> None:
    """Gives a file this length, if it has another one."""
    if os.fstat(handle).st_size != length:
        os.ftruncate(handle, length)


def open_file(folder: int, name: str, flags: int = 0) -> int:
    """Opens a file for reading and writing, with access for its owner alone."""
    flags |= os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, OWNER_ONLY, dir_fd=folder)
    if flags & os.O_CREAT:
        os.fchmod(handle, OWNER_ONLY)  # a umask may have removed bits
    return handle


def put(folder: int, name: str, content: bytes | bytearray) -> None:
    """Replaces a file atomically: after a crash it has the old content or the new one, whole."""
    fresh = f"{name}.new"
    handle = open_file(folder, fresh, os.O_CREAT | os.O_TRUNC)
    try:
        write(handle, content)
    finally:
        os.close(handle)
    os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    sync_names(folder)


def open_folder(path: Path, *, create: bool) -> int:
    """Opens a folder that nobody else can write to."""
    if create and not path.is_dir():
        with suppress(FileExistsError):  # another process was quicker
            os.mkdir(path, 0o700)
            os.chmod(path, 0o700)  # a umask may have removed bits
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync_names(above)
        finally:
            os.close(above)
    handle = os.open(path, _FOLDER)
    status = os.fstat(handle)
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        os.close(handle)
        raise StoreRefused(
            f"The folder '{path}' belongs to another user or can be written by others: its mode "
            f"is {stat.S_IMODE(status.st_mode):04o}.",
            why="whoever can write there can replace this vault with their own",
            tip=f"chmod 700 {path}, as its owner",
        )
    return handle


def hold(handle: int, path: Path) -> None:
    """Locks a file or folder for this process, until the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreRefused(
            f"'{path}' is in use.",
            why="two writers at once would leave two states that can be read",
            tip="try again when the other process is done; a process that died holds no lock",
        ) from None
