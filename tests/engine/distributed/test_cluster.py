"""Streams stay where they were launched; their files are secret, durable, and go when they end."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, BadInput, BudgetExceeded, StoreRefused
from ameles.engine.distributed.bucket_folder import BucketFolder, sha256
from ameles.engine.distributed.bucket_gatherer import MOST_BUCKETS, Cluster
from ameles.engine.distributed.manifest import NAME, BucketFiles, Manifest, UsersFile
from ameles.engine.distributed.results import BucketResult, PieceTotals, Shard
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.gathering.pending import GathererState
from ameles.engine.operating.retire import RetiredStream, retire_stream
from ameles.store import open_store
from tests.engine.distributed.clusters import EVENT, WINDOW, Site, cluster

DAILY = ("daily",)


def launched(folder: Path, buckets: int | None = 2, unit: str = WINDOW) -> Site:
    site = Site(folder, unit, cluster=cluster(folder, buckets), only=DAILY)
    site.deliver(0)
    site.run(1)
    return site


def test_users_stay_on_the_engine_that_has_them(tmp_path: Path) -> None:
    there = launched(tmp_path / "there")
    with pytest.raises(StoreRefused, match="launched on a cluster") as refused:
        there.run(3, cluster=None)
    assert str(there.state) in str(refused.value)
    with pytest.raises(StoreRefused, match="has 2 buckets of users, not 3"):
        there.run(3, cluster=cluster(there.folder, 3))
    there.run(3, cluster=cluster(there.folder, None))  # as many as at the launch
    here = Site(tmp_path / "here", WINDOW, only=DAILY)
    here.deliver(0)
    here.run(1)
    with pytest.raises(StoreRefused, match="launched in one process"):
        here.run(3, cluster=cluster(here.folder, 2))


def test_a_launch_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    site = Site(tmp_path, WINDOW, cluster=cluster(tmp_path, 2), only=DAILY)
    site.text = site.text.replace("\nepsilon = ", "\ncap = 1e-9\nepsilon = ")
    site.deliver(0)
    with pytest.raises(BudgetExceeded):
        site.run(1)
    assert not (tmp_path / "state").exists()


def test_a_stream_of_events_has_no_state_and_may_go_anywhere(tmp_path: Path) -> None:
    site = launched(tmp_path, unit=EVENT)
    site.run(2, cluster=None)
    site.deliver(1)
    site.run(4)
    assert site.cluster is not None
    assert not site.cluster.folder.exists()


def test_a_state_that_may_be_seized_is_refused_on_a_cluster(tmp_path: Path) -> None:
    site = Site(tmp_path, EVENT, cluster=cluster(tmp_path, 1), only=DAILY)
    for old, new in (
        ('unit = "event"', 'unit = "event"\nintrusions = "one"'),
        ('source = "*.csv"\ntime = "at"', 'source = "-"'),
        ('url = "s.db"', 'url = "s.db"\nvault = "memory"'),
    ):
        site.text = site.text.replace(old, new)
    with pytest.raises(BadInput, match="cannot run on a cluster"):
        site.run(1)


@pytest.mark.parametrize("buckets", [0, -1, MOST_BUCKETS + 1])
def test_there_is_a_bucket_and_not_too_many(buckets: int, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"not {buckets}"):
        Cluster(tasks=TasksHere(), folder=tmp_path, buckets=buckets)


def test_files_are_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        site = launched(tmp_path)
    finally:
        os.umask(before)
    assert S_IMODE(site.state.stat().st_mode) == 0o700
    modes = {S_IMODE(file.stat().st_mode) for file in site.state.iterdir()}
    assert modes == {0o600}


def test_a_folder_is_durable_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all folders above it, also those that an attempt before made and did not sync."""
    synced = list[str]()
    monkeypatch.setattr(
        "ameles.engine.distributed.bucket_folder.sync_folder",
        lambda folder: synced.append(os.path.relpath(folder, tmp_path)),
    )
    for _ in range(2):
        synced.clear()
        BucketFolder(tmp_path / "a" / "b" / "c").create()
        assert synced[-2:] == ["a", "a/b"]
    BucketFolder(tmp_path / "a" / "x" / "y" / "z").create()
    assert synced[-3:] == ["a", "a/x", "a/x/y"]
    assert {S_IMODE(folder.stat().st_mode) for folder in tmp_path.rglob("*")} == {0o700}


def test_a_folder_for_others_or_of_others_is_refused(tmp_path: Path) -> None:
    site = launched(tmp_path)
    folder = site.state
    folder.chmod(0o750)
    with pytest.raises(StoreRefused, match="can be opened by other users"):
        site.run(3)
    folder.chmod(0o700)
    moved = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(moved)
    with pytest.raises(StoreRefused, match="must be a folder of the user"):
        site.run(3)
    folder.unlink()
    with pytest.raises(StoreRefused, match="is not there"):
        site.run(3)
    moved.rename(folder)
    site.run(3)


def test_a_folder_may_be_moved(tmp_path: Path) -> None:
    site = launched(tmp_path)
    assert site.cluster is not None
    there = site.cluster.folder.rename(tmp_path / "moved")
    site.cluster = Cluster(tasks=TasksHere(), folder=there)
    site.deliver(1)
    site.run(3)
    assert site.files()


def test_a_file_is_durable_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, deeds = BucketFolder(tmp_path / "state"), list[str]()
    folder.create()
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        name = os.readlink(f"/proc/self/fd/{handle}")
        deeds.append(f"sync {'folder' if name == str(folder.path) else 'file'}")
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        deeds.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    name = folder.write("open", 7, 3, b"content")
    assert deeds == ["sync file", "rename", "sync folder"]
    assert name.startswith("000000000007-000003-open-")
    assert folder.read(name, sha256(b"content")) == b"content"
    assert folder.write("open", 7, 3, b"content") != name
    with pytest.raises(StoreRefused, match="is damaged"):
        folder.read(name, sha256(b"other"))


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    folder = BucketFolder(tmp_path / "state")
    folder.create()
    name = folder.write("open", 1, 0, b"content")
    (folder.path / name).rename(tmp_path / "moved")
    (folder.path / name).symlink_to(tmp_path / "moved")
    with pytest.raises(StoreRefused, match="cannot be read"):
        folder.read(name, sha256(b"content"))


def test_what_tasks_send_shows_nothing_of_itself() -> None:
    files = BucketFiles((UsersFile("canary", "canary", 4711, 0),))
    for secret in (
        files,
        Manifest("canary", 4711, (files,)),
        Shard(0, 0, b"canary"),
        PieceTotals((4711,), {}),
        BucketResult(4711, (), {}, files),
    ):
        assert repr(secret) == f"<{type(secret).__name__}>"


def test_only_own_files_of_earlier_commits_are_removed(tmp_path: Path) -> None:
    folder = BucketFolder(tmp_path / "state")
    folder.create()
    kept, old, later = (folder.write("open", n, 0, b"") for n in (1, 1, 3))
    half = folder.path / f"{old}.new"
    half.touch()
    (folder.path / "notes.txt").touch()
    folder.remove_unnamed(frozenset({kept}), 2)
    assert {file.name for file in folder.path.iterdir()} == {kept, later, "notes.txt"}
    with pytest.raises(StoreRefused, match="is not there"):
        folder.check_present(frozenset({old}))


def test_a_folder_that_machines_do_not_share_is_noticed_before_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that writes on a disk of its own has written nothing."""
    site = Site(tmp_path, WINDOW, cluster=cluster(tmp_path, 2), only=DAILY)
    site.deliver(0)
    write = BucketFolder.write

    def lost(self: BucketFolder, kind: str, generation: int, bucket: int, content: bytes) -> str:
        name = write(self, kind, generation, bucket, content)
        (self.path / name).unlink()
        return name

    monkeypatch.setattr(BucketFolder, "write", lost)
    with pytest.raises(StoreRefused, match="is not there"):
        site.run(1)
    assert site.releases() == []


def test_users_of_earlier_windows_are_forgotten(tmp_path: Path) -> None:
    site = launched(tmp_path)
    site.deliver(1)
    site.run(2)
    assert any("-users-" in name for name in site.files())
    site.run(3)  # the window of three days is over
    assert not any("-users-" in name for name in site.files())


def test_what_is_not_a_manifest_is_refused() -> None:
    manifest = Manifest.first("/somewhere", 3)
    assert Manifest.of(manifest.state()) == manifest
    assert Manifest.of(GathererState()) is None
    for text in (b"", b"{}", b'{"version":2}', b'{"version":1,"buckets":[]}', b"\xff"):
        state = GathererState({NAME: np.frombuffer(text, dtype=np.uint8)})
        with pytest.raises(StoreRefused, match="cannot be read"):
            Manifest.of(state)


def retired(site: Site) -> RetiredStream:
    with closing(open_store(str(site.folder / "s.db"))) as store:
        return retire_stream(site.plan, store, "it is over")


def test_retiring_removes_the_files(tmp_path: Path) -> None:
    site = launched(tmp_path)
    folder, count = site.state, len(site.files())
    done = retired(site)
    assert done.files is not None
    assert done.files.startswith(f"{count} files of users removed")
    assert not folder.exists()
    assert retired(site).files is None
    with pytest.raises(StoreRefused, match="was retired"):
        site.run(3)


def test_retiring_without_the_folder_is_refused_and_can_be_done_again(tmp_path: Path) -> None:
    site = launched(tmp_path)
    folder = site.state
    moved = folder.rename(tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(StoreRefused, match="its files of users are not removed yet"):
            retired(site)
    with pytest.raises(StoreRefused, match="was retired"):
        site.run(3)  # it never goes on, whatever became of its files
    moved.rename(folder)
    assert retired(site).files is not None
    assert not folder.exists()


def test_the_results_of_a_disk_that_is_full_count_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = launched(tmp_path)
    valid = site.files()
    site.deliver(1)

    def full(handle: int, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("ameles.engine.distributed.bucket_folder.write_all", full)
        with pytest.raises(AmelesError, match="No space left on device"):
            site.run(3)
    assert site.files() > valid
    site.run(3)
    assert not any(name.endswith(".new") for name in site.files())
