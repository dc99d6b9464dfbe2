"""Records of a stream, step by step: generated, or read from a file.

``zipf`` is the law of the synthetic experiment of DP-SQLP (PVLDB 2024, section 5.1).  The number
of records of a user follows a Zipf-Mandelbrot law with N = 100,000, q = 26 and s = 6.738, cut at
32.  The key of a record follows one with N = 1,000,000, q = 1,000 and s = 1.4.  Its step is
uniform.  All are independent.  ``repeats`` has users who come back to a few keys of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEED = 20240612
MOST_RECORDS = 32


@dataclass(frozen=True)
class Stream:
    """Records in the order of their steps, in two files of 4-byte numbers."""

    folder: Path
    users: int
    keys: int
    ends: tuple[int, ...]  # after each step, how many records there were

    @classmethod
    def written(
        cls, folder: Path, user: NDArray[np.int32], key: NDArray[np.int32], ends: NDArray[np.int64]
    ) -> Stream:
        """These records, in files of this folder."""
        user.astype(np.int32).tofile(folder / "user")
        key.astype(np.int32).tofile(folder / "key")
        users, keys = int(user.max()) + 1, int(key.max()) + 1
        return cls(folder, users, keys, tuple(ends.tolist()))

    @property
    def records(self) -> int:
        """How many there are."""
        return self.ends[-1]

    @property
    def steps(self) -> int:
        """The horizon."""
        return len(self.ends)

    def column(self, name: str, start: int = 0, end: int | None = None) -> NDArray[np.int32]:
        """A part of one of the files."""
        count = -1 if end is None else end - start
        return np.fromfile(self.folder / name, np.int32, count=count, offset=4 * start)

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The users and the keys of each step; only one step is in memory."""
        start = 0
        for end in self.ends:
            yield self.column("user", start, end), self.column("key", start, end)
            start = end

    def truth(self) -> NDArray[np.int64]:
        """How many records each key has."""
        return np.bincount(self.column("key"), minlength=self.keys)


def mandelbrot(count: int, q: float, s: float) -> NDArray[np.float64]:
    """The chances of ranks 1, ..., count."""
    weights = (np.arange(1, count + 1) + q) ** -s
    return weights / weights.sum()


def in_random_order(rng: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Each number as often as its count says, shuffled."""
    numbers = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
    rng.shuffle(numbers)
    return numbers


def zipf(folder: Path, steps: int, users: int = 10_000_000, keys: int = 1_000_000) -> Stream:
    """The synthetic stream of the paper: 59.8 million records with its 10 million users."""
    rng = np.random.default_rng(SEED)
    each = np.bincount(
        rng.choice(100_000, size=users, p=mandelbrot(100_000, 26, 6.738)) + 1,
        minlength=MOST_RECORDS,
    )
    each[MOST_RECORDS] = each[MOST_RECORDS:].sum()
    # which user has how many does not matter: users are shuffled
    lengths = np.repeat(np.arange(MOST_RECORDS + 1), each[: MOST_RECORDS + 1])
    user = in_random_order(rng, lengths)
    key = in_random_order(rng, rng.multinomial(user.size, mandelbrot(keys, 1000, 1.4)))
    ends = np.cumsum(rng.multinomial(user.size, np.full(steps, 1 / steps)))
    return Stream.written(folder, user, key, ends)


def repeats(folder: Path, steps: int, users: int = 300_000, keys: int = 20_000) -> Stream:
    """Users with three favourite keys, to whom each comes back: 1 to 32 records, 16.5 on average.

    Half of a user's records are on the first favourite, the rest on the two others.
    """
    rng = np.random.default_rng(SEED + 1)
    favourites = rng.choice(keys, size=(users, 3), p=mandelbrot(keys, 20, 1.2)).astype(np.int32)
    user = in_random_order(rng, rng.integers(1, MOST_RECORDS + 1, users))
    which = rng.choice(3, size=user.size, p=(0.5, 0.25, 0.25))
    ends = np.cumsum(rng.multinomial(user.size, np.full(steps, 1 / steps)))
    return Stream.written(folder, user, favourites[user, which], ends)


def edits(folder: Path, steps: int, path: Path) -> Stream:
    """A day of edits from a CSV with the columns time, user, channel and namespace.

    A key is a channel with a namespace.  Steps are equal parts of the day.
    """
    texts = pl.read_csv(path, infer_schema=False).sort("time", maintain_order=True)
    stamps = [datetime.fromisoformat(text).timestamp() for text in texts["time"]]
    day = stamps[0] - stamps[0] % 86_400
    step = ((np.array(stamps) - day) * steps / 86_400).astype(np.int64).clip(0, steps - 1)
    names = texts["channel"] + "/" + texts["namespace"]
    key = np.unique(names.to_numpy(), return_inverse=True)[1].astype(np.int32)
    user = np.unique(texts["user"].to_numpy(), return_inverse=True)[1].astype(np.int32)
    ends = np.cumsum(np.bincount(step, minlength=steps))
    return Stream.written(folder, user, key, ends)
