"""Files of users that were seen: sorted, immutable, searched without reading all of them.

    magic
    pages of 32 records, 32 bytes each, sorted by key; the last page is filled up with zeros
    for each page, the first half of its first key
    for each page, its checksum

The digest in the manifest is of the two lists at the end.  So a search reads them and the pages
that it needs, one for each user, and notices if any of them was changed.  Its time does not grow
with the number of users in the file, but for half a byte each in the lists.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.engine.distributed.bucket_folder import BucketFolder, damaged, sha256
from ameles.engine.distributed.manifest import UsersFile
from ameles.engine.gathering.contribution_bounds import SeenUsers
from ameles.noise.arrays import IntArray

Words: TypeAlias = NDArray[np.uint64]
Records: TypeAlias = NDArray[Any]  # of RECORD
RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("steps", "<i8"), ("marks", "<i8")])
PAGE = 32
GROWTH = 2  # runs of at most so many times the users of a new one are merged into it
MAGIC = b"AMELES\x00U\x01".ljust(16, b"\x00")
_WORDS = RECORD.itemsize // 8
_AT_ONCE = 1 << 14  # pages whose checksums are computed at once
# A page's checksum is the sum of its words, each times an odd number of its own, modulo 2**64: any
# change of one word changes it.
_FACTORS = np.frombuffer(
    b"".join(hashlib.sha256(f"page {n}".encode()).digest() for n in range(PAGE)), dtype="<u8"
) | np.uint64(1)


def write_run(
    folder: BucketFolder, generation: int, bucket: int, run: Records, window: int
) -> UsersFile:
    """Writes sorted records as a new file."""
    whole = np.zeros(-(-len(run) // PAGE) * PAGE, dtype=RECORD)
    whole[: len(run)] = run
    pages = whole.view("<u8").reshape(-1, PAGE * _WORDS)
    lists = pages[:, 0].tobytes() + _checksums(pages).tobytes()
    name = folder.write("users", generation, bucket, MAGIC + whole.tobytes() + lists)
    return UsersFile(name, sha256(lists), len(run), window)


def read_run(folder: BucketFolder, run: UsersFile) -> Records:
    """All records of a file."""
    return _Opened(folder, run).records()


def find_users(
    folder: BucketFolder, runs: Sequence[UsersFile], window: int, users: list[bytes]
) -> SeenUsers:
    """What the newest run that has a user says about that user."""
    high, low = halves(users)
    order = np.argsort(high)  # neighbours share a page
    high, low = high[order], low[order]
    steps, marks = np.zeros(len(users), np.int64), np.zeros(len(users), np.int64)
    left = np.arange(len(users))
    for run in reversed(runs):
        if run.window != window or not len(left):
            continue
        found, records = _Opened(folder, run).find(high[left], low[left])
        steps[left[found]] = records["steps"]
        marks[left[found]] = records["marks"]
        left = left[~found]
    known = np.ones(len(users), dtype=bool)
    known[left] = False
    here = np.flatnonzero(known)
    return SeenUsers(window, [users[place] for place in order[here]], steps[here], marks[here])


def records_of(seen: SeenUsers) -> Records:
    """Sorted records of users."""
    records = np.zeros(len(seen.users), dtype=RECORD)
    records["high"], records["low"] = halves(seen.users)
    records["steps"], records["marks"] = seen.steps, seen.marks
    return merged([records])


def merged(parts: Sequence[Records]) -> Records:
    """The records of several runs, sorted; of two about one user the later part's."""
    every = np.concatenate(parts)
    every = every[np.lexsort((every["low"], every["high"]))]  # stable: later parts stay later
    high, low = every["high"], every["low"]
    last = np.ones(len(every), dtype=bool)
    last[:-1] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return every[last]


def halves(users: Sequence[bytes]) -> tuple[Words, Words]:
    """The two halves of each keyed hash, as numbers in the order of the hashes."""
    both = np.frombuffer(b"".join(users), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return both[:, 0].copy(), both[:, 1].copy()


class _Opened:
    """A file of users that is open, as pages of words."""

    def __init__(self, folder: BucketFolder, run: UsersFile) -> None:
        self._path, self._users = folder.path / run.name, run.users
        pages = -(-run.users // PAGE)
        end = len(MAGIC) + pages * PAGE * RECORD.itemsize
        with folder.opened(run.name) as handle:
            if os.fstat(handle).st_size != end + 16 * pages:
                raise damaged(self._path)
            content = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
        if content[: len(MAGIC)] != MAGIC or sha256(content[end:]) != run.digest:
            raise damaged(self._path)
        words = np.frombuffer(content, "<u8", offset=len(MAGIC))
        self._pages = words[: pages * PAGE * _WORDS].reshape(pages, PAGE * _WORDS)
        self._first, self._checks = words[-2 * pages : -pages], words[-pages:]

    def records(self) -> Records:
        """All of them."""
        pages = self._checked(np.arange(len(self._pages)))
        return pages.reshape(-1).view(RECORD)[: self._users]

    def find(self, high: Words, low: Words) -> tuple[NDArray[np.bool_], Records]:
        """Which users are there, and their records."""
        found = np.zeros(len(high), dtype=bool)
        records = np.zeros(len(high), dtype=RECORD)
        page = np.searchsorted(self._first, high, side="right").astype(np.int64) - 1
        # A page may begin in the middle of users with the same first half.
        earliest = np.maximum(np.searchsorted(self._first, high, side="left") - 1, 0)
        left = np.flatnonzero(page >= 0)
        while len(left):
            there = self._within(page[left], high[left], low[left])
            here = (there["high"] == high[left]) & (there["low"] == low[left])
            found[left[here]], records[left[here]] = True, there[here]
            left = left[~here]
            left = left[page[left] > earliest[left]]
            page[left] -= 1
        return found, records[found]

    def _within(self, page: IntArray, high: Words, low: Words) -> Records:
        """The last record of a page that is not behind a user; the first if all are."""
        wanted, rank = np.unique(page, return_inverse=True)
        records = self._checked(wanted).view(RECORD)
        highs, lows = records["high"], records["low"]
        place, step = np.zeros(len(page), dtype=np.int64), PAGE // 2
        inside = np.minimum(self._users - page * PAGE, PAGE)
        while step:
            ahead = place + step
            near = rank, np.minimum(ahead, PAGE - 1)
            first = highs[near]
            before = (first < high) | ((first == high) & (lows[near] <= low))
            place = np.where((ahead < inside) & before, ahead, place)
            step //= 2
        return records[rank, place]

    def _checked(self, wanted: IntArray) -> Words:
        """Some pages, after a look at their checksums."""
        pages = self._pages[wanted]
        if not np.array_equal(_checksums(pages), self._checks[wanted]):
            raise damaged(self._path)
        return pages


def _checksums(pages: Words) -> Words:
    parts = [
        (pages[start : start + _AT_ONCE] * _FACTORS).sum(axis=1, dtype=np.uint64)
        for start in range(0, len(pages), _AT_ONCE)
    ]
    return np.concatenate(parts).astype("<u8") if parts else np.empty(0, dtype="<u8")
