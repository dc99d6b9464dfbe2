"""The manifest: which files hold what is remembered about each bucket of users.

It is the state of a gatherer.  The engine commits it with the position and the releases.  Files
that no committed manifest names were left by attempts that did not commit, and count nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import duckdb
import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.pending import GathererState

NAME = "manifest"  # of the array in the gatherer's state
FIRST = 1


@dataclass(frozen=True, slots=True)
class UsersFile:
    """A file of users that were seen, sorted by their keyed hashes."""

    name: str
    digest: str
    users: int
    window: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """A file of events that belong to steps which are still open."""

    name: str
    digest: str
    first: int  # the earliest of these steps


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """The valid files of one bucket; runs from the oldest to the newest."""

    runs: tuple[UsersFile, ...] = ()
    candidates: Candidates | None = None

    def __repr__(self) -> str:
        return "<BucketFiles>"

    @property
    def names(self) -> frozenset[str]:
        """The names of all files."""
        waiting = () if self.candidates is None else (self.candidates.name,)
        return frozenset((*(run.name for run in self.runs), *waiting))

    def from_window(self, window: int) -> BucketFiles:
        """Without the users of earlier windows, who are forgotten."""
        runs = tuple(run for run in self.runs if run.window >= window)
        return self if runs == self.runs else replace(self, runs=runs)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of all buckets, after so many commits (``generation``)."""

    folder: str
    generation: int
    buckets: tuple[BucketFiles, ...]

    def __repr__(self) -> str:
        return "<Manifest>"

    @classmethod
    def first(cls, folder: str, buckets: int) -> Manifest:
        """The manifest at the launch: there are no files."""
        return cls(folder, 0, (BucketFiles(),) * buckets)

    @property
    def names(self) -> frozenset[str]:
        """The names of all valid files."""
        return frozenset(name for files in self.buckets for name in files.names)

    def state(self) -> GathererState:
        """The state of a gatherer that has this manifest."""
        written = json.dumps({"version": FIRST, **asdict(self)}, separators=(",", ":")).encode()
        return GathererState(
            {NAME: np.frombuffer(written, dtype=np.uint8).copy()}, duckdb.__version__
        )

    @classmethod
    def of(cls, state: GathererState) -> Manifest | None:
        """The manifest in a state; None if an engine in one process made the state."""
        written = state.arrays.get(NAME)
        if written is None:
            return None
        try:
            document = json.loads(written.tobytes())
            if document.pop("version") == FIRST:
                buckets = tuple(_files(files) for files in document.pop("buckets"))
                return cls(**document, buckets=buckets)
        except (KeyError, TypeError, ValueError):
            pass  # its message may quote the manifest
        raise StoreRefused(
            "The list of this stream's files of users cannot be read.",
            why="it is damaged, or a newer program wrote it",
            tip="the newest ameles",
        )


def _files(document: Mapping[str, Any]) -> BucketFiles:
    runs = tuple(UsersFile(**run) for run in document["runs"])
    waiting = document["candidates"]
    return BucketFiles(runs, None if waiting is None else Candidates(**waiting))
