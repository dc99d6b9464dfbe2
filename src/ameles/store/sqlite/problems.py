"""Errors of SQLite as sentences: no message of SQLite itself reaches a user.

Its messages name tables and files, never values.  They are still not repeated, because they are
written for programmers.
"""

from __future__ import annotations

import os
import sqlite3

from ameles.core.exceptions import StoreRefused
from ameles.store.unavailable import StoreBusy

_LITTLE = 1 << 20  # a disk with fewer free bytes counts as full
_CODE = 0xFF  # SQLite's extended codes have the primary one in their lowest byte

_SENTENCES: dict[int, tuple[str, str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "is locked",
        "another process is writing to it, and did not finish in time",
        "run again when that process is done",
    ),
    sqlite3.SQLITE_LOCKED: (
        "is locked",
        "another part of this process is writing to it",
        "run again when that is done",
    ),
    sqlite3.SQLITE_READONLY: (
        "cannot be written",
        "the file, its folder or its disk is read-only",
        "a folder in which this user may write",
    ),
    sqlite3.SQLITE_PERM: (
        "cannot be opened",
        "this user may not read and write it",
        "the user who created it",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "the file is gone, or this user may not open it or write in its folder",
        "run as the user who created it, in a folder where they may write",
    ),
    sqlite3.SQLITE_FULL: (
        "cannot grow",
        "the disk is full; nothing of the last transaction was kept",
        "run again when there is space; what was released before is safe",
    ),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written",
        "the disk reported an error; the last transaction was not published",
        "run again when the disk works; the store then shows what was kept",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a store of Ameles",
        "the file is something else, or its beginning is damaged",
        "another path, or a backup of the store",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "its pages do not fit together",
        "a backup of the store",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "refused a change",
        "it would break a rule of the store, such as one value for one step",
        "",
    ),
    sqlite3.SQLITE_NOMEM: ("cannot be used", "there is not enough memory", ""),
}
# What may end by itself, or by something that is done to the disk or the file and not to Ameles.
_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
    }
)
_OTHER = (
    "cannot be used",
    "its database failed in a way that Ameles does not know",
    "ameles doctor",
)


def refusal(problem: Exception, where: str) -> StoreRefused:
    """The refusal for a failure of the database at ``where``."""
    if isinstance(problem, OverflowError | UnicodeEncodeError):
        return StoreRefused(
            f"The store '{where}' cannot keep this.",
            why="a number is beyond 64 bits, or a text is not valid Unicode",
        )
    code = getattr(problem, "sqlite_errorcode", None)
    cause = None if code is None else _by_disk(code & _CODE, where)
    what, why, tip = _OTHER if cause is None else _SENTENCES.get(cause, _OTHER)
    kind = StoreBusy if cause in _PASSING else StoreRefused
    return kind(f"The store '{where}' {what}.", why=why, tip=tip)


def locked(where: str) -> StoreRefused:
    """The refusal if another thread of this process does not finish its transaction in time."""
    what, why, tip = _SENTENCES[sqlite3.SQLITE_LOCKED]
    return StoreBusy(f"The store '{where}' {what}.", why=why, tip=tip)


def _by_disk(code: int, where: str) -> int:
    """The code of a full or read-only disk, if SQLite only says that the disk failed."""
    if code not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return code
    try:
        disk = os.statvfs(os.path.dirname(where) or ".")
    except OSError:
        return code
    if disk.f_flag & os.ST_RDONLY:
        return sqlite3.SQLITE_READONLY
    return sqlite3.SQLITE_FULL if disk.f_bavail * disk.f_frsize < _LITTLE else code


def is_double(problem: Exception) -> bool:
    """Whether a row was refused because there is one with the same key."""
    return getattr(problem, "sqlite_errorcode", None) in (
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    )
