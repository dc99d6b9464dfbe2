"""Files that a backup or a restore makes: for their owner alone, and gone if it fails.

Each is made under its own name and locked while a process writes it.  What a process that died has
left under the name is not locked, and is replaced.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.own_file import open_own
from ameles.store.sqlite.database_file import sync_folder

_FRESH = ".new"
_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite may make beside a file
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}  # on FAT, for example


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[Path]:
    """An empty file for its owner alone, which gets the name ``path`` when the block ends.

    If the block fails, nothing is left of it.
    """
    _check_free(path, replace=replace)
    with own_file(path.with_name(path.name + _FRESH)) as (fresh, _):
        yield fresh
        _check_free(path, replace=replace)
        if replace:
            os.replace(fresh, path)
        else:
            _name(fresh, path)
        sync_folder(path.parent)


@contextmanager
def own_file(path: Path) -> Iterator[tuple[Path, int]]:
    """An empty file for its owner alone, and its handle; it is removed at the end.

    What a process that died has left under this name is replaced.
    """
    _check_folder(path.absolute().parent)
    handle = _created(path)
    try:
        yield path, handle
    finally:
        for ending in _BESIDE:
            with suppress(OSError):
                os.unlink(f"{path}{ending}")
        os.close(handle)


def _created(path: Path) -> int:
    """Creates a file, locked, so that nobody takes it for one that was left behind."""
    for _ in range(2):
        with suppress(FileExistsError):
            handle = open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        _remove_left_over(path)
    raise _busy(path)


def _remove_left_over(path: Path) -> None:
    if stat.S_ISREG(os.lstat(path).st_mode):
        left = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # whoever's: it goes
        try:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(path) from None
        finally:
            os.close(left)
    for ending in _BESIDE:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{ending}")


def _busy(path: Path) -> AmelesError:
    return AmelesError(
        f"'{path}' is being written by another process.",
        why="two backups or restores at once would mix",
        tip="run again when it is done",
    )


def _check_folder(folder: Path) -> None:
    """Refuses a folder in which others could put their own file in the place of this one."""
    status = os.stat(folder)
    if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise BadInput(
            f"Others may write in the folder '{folder}': its mode is "
            f"{stat.S_IMODE(status.st_mode):04o}.",
            why="whoever may exchange a file while it is written gets the secrets in it",
            tip=f"chmod go-w {folder}, or a folder of your own",
        )


def _check_free(path: Path, *, replace: bool) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if replace and stat.S_ISREG(status.st_mode):
        return
    raise BadInput(
        f"The file '{path}' exists already."
        if stat.S_ISREG(status.st_mode)
        else f"'{path}' is not a file.",
        why="a backup goes into a file of its own, and follows no link",
        tip="another name, or --replace",
    )


def _name(fresh: Path, path: Path) -> None:
    """Gives a file its name, unless something else has it by now."""
    try:
        os.link(fresh, path, follow_symlinks=False)
    except FileExistsError:
        _check_free(path, replace=False)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        os.rename(fresh, path)
