"""A store that is older than its files of users, or a copy, is refused before it releases."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.distributed.bucket_folder import MARK, BucketFolder
from ameles.store import Store
from ameles.testing.crashes import Crash, CrashingStore
from tests.engine.distributed.clusters import USER, Site, cluster

BEHIND = "is behind the files of users"


def launched(folder: Path) -> Site:
    there = cluster(folder / "site", 2)
    site = Site(folder / "site", USER, cluster=there, only=("daily",))
    site.deliver(0)
    site.run(1)
    return site


def copied(site: Site) -> Path:
    """A backup of the store, with its files of users."""
    return shutil.copytree(site.folder, site.folder.with_name("backup"))


def gone_on(site: Site) -> None:
    site.deliver(1)
    site.run(3)


def restored(site: Site, backup: Path) -> None:
    """Puts the store and its sinks back, so that no sink can tell."""
    for file in (backup / "s.db", *backup.glob("published*")):
        shutil.copy2(file, site.folder / file.name)


def refused(site: Site, match: str, until: int = 3) -> None:
    before = site.releases(), site.published()
    with pytest.raises(StoreRefused, match=match):
        site.run(until)
    assert (site.releases(), site.published()) == before


def test_an_older_store_is_refused_whatever_became_of_its_files(tmp_path: Path) -> None:
    site = launched(tmp_path)
    backup = copied(site)
    own = backup / "state" / site.state.name
    gone_on(site)
    restored(site, backup)
    refused(site, BEHIND)  # its own files were replaced by later commits
    for file in own.iterdir():
        shutil.copy2(file, site.state)
    refused(site, BEHIND)  # they are beside those of later commits
    for file in site.state.iterdir():
        file.unlink()
    refused(site, "is not there")
    shutil.rmtree(site.state)
    shutil.copytree(own, site.folder / "state" / own.name)
    site.run(3)  # both are from the same time
    assert site.releases()[-1].step == 3


def test_files_of_later_commits_are_noticed_also_without_their_mark(tmp_path: Path) -> None:
    """A crash after a commit may leave it without one; files for the next commit are no sign."""
    site = launched(tmp_path)
    for mark in site.state.glob(f"*-{MARK}-*"):
        mark.unlink()
    ahead = [site.state / f"{number:012}-000000-users-{'0' * 32}" for number in (2, 3)]
    ahead[1].touch()
    refused(site, BEHIND)
    ahead[1].rename(ahead[0])
    site.run(1)


def test_a_step_in_which_nothing_is_looked_up_is_refused_too(tmp_path: Path) -> None:
    site = launched(tmp_path)
    site.run(5)  # nothing waits any more
    next(file for file in site.state.iterdir() if MARK not in file.name).unlink()
    refused(site, "is not there", until=6)


def test_steps_that_a_crash_left_open_are_refused_too(tmp_path: Path) -> None:
    """They close with totals in the store, and nothing is gathered for them."""
    site = launched(tmp_path)
    site.deliver(1)

    def crashing(store: Store) -> Store:
        return CrashingStore(store, "s", 2, before=False)

    with pytest.raises(Crash):
        site.run(4, store=crashing, batch=1)
    backup = copied(site)
    site.run(5)
    restored(site, backup)
    refused(site, BEHIND, until=4)


def test_a_copy_of_the_store_cannot_go_on_with_the_same_files(tmp_path: Path) -> None:
    site = launched(tmp_path)
    copy = Site(copied(site), USER, cluster=site.cluster, only=("daily",))
    gone_on(site)
    refused(copy, BEHIND)


def test_a_mark_that_was_half_written_is_no_mark(tmp_path: Path) -> None:
    folder = BucketFolder(tmp_path / "state")
    folder.create()
    (folder.path / f"{1:012}-000000-{MARK}-{'0' * 32}.new").touch()
    folder.mark(1)
    folder.remove_unnamed(frozenset(), 1)
    [mark] = folder.path.iterdir()
    assert mark.suffix == ""


def test_there_is_one_mark_that_says_the_last_commit(tmp_path: Path) -> None:
    site = launched(tmp_path)
    gone_on(site)
    [mark] = site.state.glob(f"*-{MARK}-*")
    assert mark.name.startswith("000000000002-")
    site.run(3)
    assert [*site.state.glob(f"*-{MARK}-*")] == [mark]
