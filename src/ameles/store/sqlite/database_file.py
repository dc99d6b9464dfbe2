"""The file of a store: created for its owner alone, and durable from its creation.

A file that is created with the usual calls can be read by others until its mode is changed.  Here
the file is created with the right mode, whatever the umask is, and SQLite gives the same mode to
the files that it creates beside it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ameles.core.exceptions import StoreRefused
from ameles.core.own_file import OWNER_ONLY, Planted, above, check_own, open_own
from ameles.store.unavailable import StoreBusy

_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite opens beside a store
_TEMPORARY = "SQLITE_TMPDIR"  # a name in the environment that SQLite knows


def prepare(path: Path, *, create: bool, writable: bool = True) -> None:
    """Makes an empty file for a store if there is none, and refuses one that is not private, or not
    ``writable``."""
    try:
        for ending in _BESIDE:
            _check_own(path.with_name(path.name + ending))
        if not _exists(path):
            if not create:
                raise StoreRefused(
                    f"There is no store at '{path}'.",
                    tip="the path in the plan, relative to the folder of the plan",
                )
            _create(path)
        _check_own(path)
        mode = os.stat(path).st_mode
    except OSError as problem:
        raise _refused(path, problem) from None
    if mode & 0o077:
        raise StoreRefused(
            f"The store '{path}' can be opened by other users: its mode is "
            f"{stat.S_IMODE(mode):04o}.",
            why="it has secrets, such as exact counts of the open step",
            tip=f"chmod 600 {path}",
        )
    if writable and mode & OWNER_ONLY != OWNER_ONLY:
        raise StoreBusy(
            f"The store '{path}' cannot be written: its mode is {stat.S_IMODE(mode):04o}.",
            why="the file is read-only",
            tip=f"chmod 600 {path}",
        )


def _exists(path: Path) -> bool:
    # path.exists() would report a file in a folder without access as absent.
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def _create(path: Path) -> None:
    try:
        os.close(open_own(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
    except FileExistsError:
        return  # another process was quicker
    sync_folder(path.parent)


def _check_own(path: Path) -> None:
    """Refuses a file that somebody else may have put there, to make SQLite write elsewhere."""
    try:
        check_own(os.lstat(path), above(path))
    except FileNotFoundError:
        return
    except Planted as planted:
        raise StoreRefused(
            f"The file '{path}' of the store {planted.strerror}.",
            why="somebody else may have put it there to make Ameles write elsewhere; and a store "
            "with two names would be run twice",
            tip="remove it if it is not yours; to have a second copy, ameles backup",
        ) from None


def real_path(path: Path) -> Path:
    """Where a store is: at its path, or where a link of this user's leads."""
    try:
        link = os.lstat(path)
        if stat.S_ISLNK(link.st_mode):
            os.stat(path)  # it leads somewhere
            if link.st_uid not in (os.geteuid(), 0, above(path).st_uid):
                raise StoreRefused(
                    f"The link '{path}' belongs to another user.",
                    why="somebody else may have put it there to make Ameles write elsewhere",
                    tip="remove it, or the real path of the store",
                )
    except FileNotFoundError:
        if os.path.islink(path):
            raise StoreRefused(
                f"The store '{path}' is a link to a file that does not exist.",
                why="a new store is made under its own name only",
                tip="remove the link, or the real path of the store",
            ) from None
    except OSError as problem:
        raise _refused(path, problem) from None
    return Path(os.path.realpath(path))


def sync_folder(folder: Path) -> None:
    """Lets the names in a folder survive a power cut, as well as the content of files."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Lets SQLite make its temporary files in a folder, where the same people may read."""
    before = os.environ.get(_TEMPORARY)
    os.environ[_TEMPORARY] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_TEMPORARY]
        else:
            os.environ[_TEMPORARY] = before


def _refused(path: Path, problem: OSError) -> StoreRefused:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return StoreRefused(
            f"There is no folder '{path.parent}' for the store.", tip=f"mkdir -p {path.parent}"
        )
    if isinstance(problem, PermissionError):
        why, tip = "this user may not do so", "a folder in which this user may write"
    else:
        why, tip = os.strerror(problem.errno or 0).lower(), "another path"
    return StoreBusy(f"The store '{path}' cannot be opened or created.", why=why, tip=tip)
