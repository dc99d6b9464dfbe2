"""Opens files by name, and none that somebody else may have put there.

Whoever may write into a folder can plant a link under a name that Ameles is about to use, and so
make it write elsewhere: a symbolic link, a hard link to another file of the same user, or a file of
their own.  ``open_own`` follows no link at the name itself, and returns a handle only after it has
looked at what it has opened.  Everything that Ameles writes under a fixed name goes through it.

A file may belong to somebody who could change it anyway: this user, the administrator, or the owner
of the folder.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

OWNER_ONLY = 0o600
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # opening a planted pipe must not block
_LINK = {errno.ELOOP, getattr(errno, "EMLINK", errno.ELOOP), getattr(errno, "EFTYPE", errno.ELOOP)}


class Planted(OSError):
    """A file that somebody else may have put there; ``strerror`` is what is wrong with it."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.ELOOP, what)


def open_own(
    name: str | Path,
    flags: int,
    *,
    folder: int | None = None,
    mode: int = OWNER_ONLY,
    linked: bool = False,
) -> int:
    """Opens a file, or with ``O_DIRECTORY`` a folder; ``folder`` is the handle of the one above.

    With ``linked``, a file may have several names: its content must then show whose it is.
    """
    try:
        handle = os.open(name, flags | _SAFE, mode, dir_fd=folder)
    except OSError as problem:
        if problem.errno in (*_LINK, errno.ENOTDIR) and _is_link(name, folder):
            raise Planted("is a link") from None
        raise
    try:
        is_folder = bool(flags & os.O_DIRECTORY)
        check_own(os.fstat(handle), above(name, folder), is_folder=is_folder, linked=linked)
        if flags & os.O_CREAT and mode == OWNER_ONLY:
            os.fchmod(handle, mode)  # a umask may have removed bits
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_own(
    status: os.stat_result, folder: os.stat_result, *, is_folder: bool = False, linked: bool = False
) -> None:
    """Refuses what is no file of this user with one name; ``folder`` is the one that it is in."""
    if stat.S_ISLNK(status.st_mode):
        raise Planted("is a link")
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(status.st_mode):
        raise Planted("is not a folder" if is_folder else "is not a file")
    if status.st_uid not in (os.geteuid(), 0, folder.st_uid):
        raise Planted("belongs to another user")
    if status.st_nlink > 1 and not is_folder and not linked:
        raise Planted("has another name elsewhere")


def above(name: str | Path, folder: int | None = None) -> os.stat_result:
    """The status of the folder that a name is in."""
    return os.stat(os.path.dirname(name) or os.curdir, dir_fd=folder)


def _is_link(name: str | Path, folder: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
