"""What a source of text files knows of them between two readings.

A file whose status is as it was when its content was last compared has the same content, and is
not opened again: so a folder of many files costs a look at each.  The status tells every change
but one within a tick of the file system's clock, so only that of a file that had been left alone
for a while is relied on.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ameles.connectors import marks
from ameles.connectors.durable import SPAN
from ameles.connectors.marks import Mark, replaced
from ameles.connectors.source import Found, unreadable

ALONE = 2 * 10**9  # nanoseconds: the coarsest tick of a file system that is in use

Signature: TypeAlias = tuple[int, int, int, int, int]


class Known:
    """Of the files in one place; ``base`` is the folder of the plan."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._position: str | None = None
        self._taken: dict[str, Mark] = {}
        self._compared: dict[str, tuple[Mark, Signature]] = {}

    def taken(self, position: str | None) -> dict[str, Mark]:
        """The marks in a position, by name."""
        if position is None or position != self._position:
            self._taken = marks.from_json("text", position)
            self._position = position
        return dict(self._taken)

    def position(self, taken: dict[str, Mark]) -> str:
        """The position of these marks."""
        self._taken = dict(taken)
        self._position = marks.to_json("text", taken.values())
        return self._position

    def follow(self, files: Sequence[Found], taken: dict[str, Mark]) -> dict[str, os.stat_result]:
        """A file that was renamed keeps its mark; one that is no longer itself is refused.

        Gives the status of each file, from before its content was compared.
        """
        status, moved, fresh = {}, {}, []
        for file in files:
            try:
                status[file.name] = found = os.stat(file.path)
                mark = taken.get(file.name)
                if mark is not None and self._fits(file, mark, found):
                    continue
            except OSError:
                raise unreadable(file.name) from None
            fresh.append(file)
            if mark is not None:
                moved[file.name] = taken.pop(file.name)
        if fresh:
            self._find(fresh, status.keys(), moved, taken)
        return status

    def _find(
        self,
        fresh: list[Found],
        names: Iterable[str],
        moved: dict[str, Mark],
        taken: dict[str, Mark],
    ) -> None:
        """Gives files that are new under their names the marks that they have under others."""
        lost = set(taken).difference(names)
        moved |= {
            name: taken[name]
            for name in lost
            if taken[name].offset and not os.path.isfile(self._base / name)
        }
        for file in fresh:
            with readable(file):
                found = _fitting(file.path, moved.values())
            if found:
                mark = max(found, key=lambda one: one.offset)
                del moved[mark.name]
                taken.pop(mark.name, None)
                taken[file.name] = replace(mark, name=file.name)
        for name, mark in moved.items():
            if name in lost:
                continue
            if name not in taken:  # its name is there, with something else in it
                raise replaced(name)
            if mark.offset:  # another file has its name now: it is gone, and may come back
                gone = f"{name}/{mark.tail}"
                taken[gone] = replace(mark, name=gone)

    def _fits(self, file: Found, mark: Mark, status: os.stat_result) -> bool:
        seen = _signature(status)
        before = self._compared.get(file.name)
        if before is not None and before[0] is mark and before[1] == seen:
            return True
        if not mark.fits(file.path):
            return False
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > ALONE:
            self._compared[file.name] = mark, seen
        return True


def _signature(status: os.stat_result) -> Signature:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _fitting(path: Path, some: Iterable[Mark]) -> list[Mark]:
    """Those of many marks that a file fits; its first bytes are read once for all of them."""
    with path.open("rb", buffering=0) as opened:
        start = os.pread(opened.fileno(), SPAN, 0)
    heads: dict[int, str] = {}
    found = []
    for mark in some:
        length = min(SPAN, mark.offset)
        if not 0 < length <= len(start):
            continue
        if length not in heads:
            heads[length] = hashlib.sha256(start[:length]).hexdigest()
        if heads[length] == mark.head and mark.fits(path):
            found.append(mark)
    return found


@contextmanager
def readable(file: Found) -> Iterator[None]:
    """Turns what the operating system refuses into an error about a source."""
    try:
        yield
    except OSError:
        failed = True
    else:
        failed = False
    if failed:
        raise unreadable(file.name)
