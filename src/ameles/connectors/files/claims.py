"""Whether one file belongs to one mark, and what the mark says of the file from then on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ameles.connectors.declarations import Declared
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present

_COPIES = 100  # marks kept of copies that are gone; a copy may come back compressed

# What a rotation adds to a name: a number or a date
_ROTATED = re.compile(r"([-._]?\d[-\d_T:.]*)+$")


def rank(file: Present, birth: int | None, mark: Mark) -> int | None:
    """How certainly a file belongs to a mark, if its content fits; 0 is the most certain."""
    named, here = mark.name in file.names, mark.device == file.status.st_dev
    if mark.inode != file.status.st_ino:
        return 4 if named and mark.first else None  # version 1 compared only content
    if birth is not None and mark.born is not None and birth != mark.born:
        return None
    if here:
        return 0 if named else 2
    if named:
        return 1
    return 3 if birth is not None and birth == mark.born else None


def brought_up(mark: Mark, file: Present, birth: int | None, declared: Declared) -> Mark:
    """The mark with the current names and identity of its file."""
    now = replace(
        mark,
        name=mark.name if mark.name in file.names else file.file.name,
        device=file.status.st_dev,
        inode=file.status.st_ino,
        born=mark.born if birth is None and declared is None else birth,
        declared=declared or mark.declared,
        digest=mark.digest if declared is None else None,  # a new file, declared the same
        first=False,
    )
    return mark if now == mark else now


def kept_marks(missing: Iterable[Mark], present: Iterable[Present]) -> list[Mark]:
    """The marks of missing files to keep.

    A mark can go if another file has its inode and another file has its name: then its file
    cannot come back.
    """
    left = list(missing)
    old = {id(mark) for mark in [mark for mark in left if mark.rotated][:-_COPIES]}
    owners = {file.inode: file for file in present}
    reused = [mark for mark in left if (mark.device, mark.inode) in owners]
    if reused:
        names = {"", *(link.name for file in owners.values() for link in file.links)}
        old |= {id(mark) for mark in reused if mark.name in names}
    return [
        replace(mark, first=False) if mark.first else mark for mark in left if id(mark) not in old
    ]


def family(name: str) -> str:
    """A name without the suffix that a rotation adds.

    >>> family("log.csv.1"), family("log.csv-20260101"), family("log.csv")
    ('log.csv', 'log.csv', 'log.csv')
    """
    return _ROTATED.sub("", name)
