"""The file of a store: created for its owner alone, and found again whatever happens around it.

A file that is created with the usual calls can be read by others until its mode is changed.  Here
the mode is part of the creation, whatever the umask says, and SQLite gives the same mode to the
files that it puts beside it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ameles.core.exceptions import StoreRefused

OWNER_ONLY = 0o600


def prepare(path: Path, *, create: bool) -> None:
    """Makes an empty file for a store if there is none, and refuses one that is not private."""
    try:
        if not _exists(path):
            if not create:
                raise StoreRefused(
                    f"There is no store at '{path}'.",
                    tip="the path in the plan, from the folder of the plan",
                )
            _create(path)
        mode = os.stat(path).st_mode
    except OSError as problem:
        raise _refused(path, problem) from None
    if not stat.S_ISREG(mode):
        raise StoreRefused(f"The store '{path}' is not a file.", tip="another path")
    if mode & 0o077:
        raise StoreRefused(
            f"The store '{path}' can be opened by other users: its mode is "
            f"{stat.S_IMODE(mode):04o}.",
            why="it has secrets, such as exact counts of the open step",
            tip=f"chmod 600 {path}",
        )
    if mode & OWNER_ONLY != OWNER_ONLY:
        raise StoreRefused(
            f"The store '{path}' cannot be written: its mode is {stat.S_IMODE(mode):04o}.",
            why="the file is read-only",
            tip=f"chmod 600 {path}",
        )


def _exists(path: Path) -> bool:
    # Not path.exists(), which takes a folder that may not be entered for an absent file.
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def _create(path: Path) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, OWNER_ONLY)
    except FileExistsError:
        return  # another process was quicker
    try:
        os.fchmod(handle, OWNER_ONLY)  # a umask can only have taken bits away
    finally:
        os.close(handle)
    # The file's name must survive a power cut as well as what will be in it.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refused(path: Path, problem: OSError) -> StoreRefused:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return StoreRefused(
            f"There is no folder '{path.parent}' for the store.", tip=f"mkdir -p {path.parent}"
        )
    if isinstance(problem, PermissionError):
        why, tip = "this user may not do so", "a folder in which this user may write"
    else:
        why, tip = os.strerror(problem.errno or 0).lower(), "another path"
    return StoreRefused(f"The store '{path}' cannot be opened or created.", why=why, tip=tip)
