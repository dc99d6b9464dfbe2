"""A pan-private stream on a disk of its own: every byte of it is searched for what was erased.

Database, journal, ciphertexts, key slot and all free blocks, below the file system.  Of a state
that is gone neither its key is there, nor the state itself outside of its cipher: in the clear it
would begin with the fingerprint of its recipe.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ameles.engine.releasing.release_run import ReleaseRun
from ameles.engine.sealed.vault.slot import KeySlot
from tests.engine.people import (
    ANNOUNCED,
    TABLES_AND_RESIDUES,
    People,
    announced,
    stream_of,
    who,
)
from tests.engine.test_sealed import Sealed
from tests.engine.test_vault_search import Secrets, mounted, new_file_for_each_key, recorded
from tests.engine.worlds import row

pytestmark = pytest.mark.sqlite_only("it searches the disk that the database is on")

CANARIES = (b"canary-canary", b"8675309", b"canary-key")


class Searched:
    """What a stream of so many updates left on its disk."""

    def __init__(
        self,
        folder: Path,
        steps: int,
        events: int,
        fault: AbstractContextManager[None] | None = None,  # while it runs
    ) -> None:
        self.secrets: Secrets
        with recorded() as self.secrets:
            with mounted(folder) as image, fault or nullcontext():
                world = Sealed(image.mounted / "stream")
                line = row(1, who="canary-canary", amount=8_675_309)
                other = row(1, region="canary-key")
                world.feed(*[[line, other] * (events // 2)] * steps)
                self.fingerprints = [r.fingerprint for r in world.plan.recipes.values()]
            self.raw = image.raw()

    @property
    def old_keys(self) -> int:
        """How many keys are there beside the last, which is to be there."""
        readable = self.secrets.found_keys(self.raw)
        assert len(self.secrets.keys) - 1 in readable
        return len(readable) - 1

    @property
    def states(self) -> int:
        return sum(fingerprint in self.raw for fingerprint in self.fingerprints)


class SearchedTables(Searched):
    """What a stream about users left on its disk; an intrusion may be announced in its middle."""

    def __init__(self, folder: Path, *, seen: bool) -> None:
        self.secrets: Secrets
        with recorded() as self.secrets:
            with mounted(folder) as image:
                unit = f"{ANNOUNCED}\nrestarts = 1"
                world = People(image.mounted / "stream", TABLES_AND_RESIDUES, unit)
                rows = [who("canary-canary", "bob", "canary-canary"), who("canary-canary")]
                world.feed(rows, rows)
                if seen:
                    announced(world, rows, rows, noise=None)
                self.fingerprints = [r.fingerprint for r in world.plan.recipes.values()]
                digest = hashlib.sha256(stream_of(world).salt.hex().encode() + b"canary-canary")
            self.raw = image.raw()
        self.hashes = (
            digest.digest()[:8],
            digest.hexdigest()[:15].encode(),
            int(digest.hexdigest()[:15], 16).to_bytes(8, "little"),
        )

    @property
    def users(self) -> int:
        return sum(canary in self.raw for canary in (b"canary-canary", *self.hashes))


def test_of_users_in_tables_only_the_last_state_can_be_read(tmp_path: Path) -> None:
    """With every statistic that a table can tell, and with tables that were seen."""
    disk = SearchedTables(tmp_path, seen=True)
    assert len(disk.secrets.keys) > 10
    assert (disk.old_keys, disk.states, disk.users) == (0, 0, 0)


def test_tables_and_users_in_the_store_are_found(tmp_path: Path) -> None:
    publish = ReleaseRun.publish

    def careless(
        self: ReleaseRun, transaction: Any, stream: Any, outputs: Any, *given: Any
    ) -> None:
        kept = self.run.snapshot() + b"canary-canary"
        publish(self, transaction, stream, outputs, given[0], kept)

    with patch.object(ReleaseRun, "publish", careless):
        disk = SearchedTables(tmp_path, seen=False)
    assert disk.states == len(disk.fingerprints) == 6
    assert disk.users == 1


def test_after_many_updates_only_the_last_state_can_be_read(tmp_path: Path) -> None:
    """Not more than there is free room for, which would overwrite what was left of the first."""
    disk = Searched(tmp_path, steps=6, events=10)
    assert len(disk.secrets.keys) > 60
    assert disk.old_keys == 0
    assert disk.states == 0
    assert not any(canary in disk.raw for canary in CANARIES)


@contextmanager
def deleted_keys() -> Iterator[None]:
    """Each key is in a new file that takes the place of the one before.

    The old files have no names any more, but stay open until the stream has ended.  Otherwise the
    file system would write new keys over some of the old ones, and which is its own affair.
    """
    deleted: list[int] = []

    def write(slot: KeySlot, sector: bytearray) -> None:
        deleted.append(os.dup(slot._handle))
        new_file_for_each_key(slot, sector)

    try:
        with patch.object(KeySlot, "write", write):
            yield
    finally:
        for handle in deleted:
            os.close(handle)


def test_keys_that_are_deleted_are_found(tmp_path: Path) -> None:
    disk = Searched(tmp_path, steps=4, events=10, fault=deleted_keys())
    assert disk.old_keys == len(disk.secrets.keys) - 1 > 40, "every one of them"


def test_states_in_the_store_are_found(tmp_path: Path) -> None:
    publish = ReleaseRun.publish

    def careless(
        self: ReleaseRun, transaction: Any, stream: Any, outputs: Any, *given: Any
    ) -> None:
        publish(self, transaction, stream, outputs, given[0], self.run.snapshot())

    with patch.object(ReleaseRun, "publish", careless):
        assert Searched(tmp_path, steps=4, events=2).states > 0
