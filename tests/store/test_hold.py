"""One process per stream, whatever happens to it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store
from ameles.store.sqlite.lock_files import held
from tests.store.places import Place
from tests.store.stores import launch, new_store
from tests.warm_processes import start

HOLD = """
import sys, time
from ameles.store import open_store
with open_store(sys.argv[1]) as store, store.holding("flu"):
    print("held", flush=True)
    time.sleep(600)
"""


def hold_when_free(store: Store, stream: str) -> None:
    """A server needs a moment to see that a process has died."""
    deadline = time.monotonic() + 600
    while True:
        try:
            with store.holding(stream):
                return
        except StoreRefused:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def test_a_second_process_is_refused_until_the_first_is_killed(place: Place) -> None:
    with (
        new_store(place) as store,
        start("-c", HOLD, place.url, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(StoreRefused, match=rf"another process \({process.pid}\)"),
            store.holding("flu"),
        ):
            pass
        with store.holding("cold"):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        hold_when_free(store, "flu")


def test_who_asks_whether_a_stream_is_held_is_in_nobodys_way(place: Place) -> None:
    with new_store(place) as store, new_store(place) as other:
        assert not other.held("flu")
        for _ in range(2):
            with store.holding("flu"):
                assert (store.held("flu"), other.held("flu")) == (True, True)
                assert not other.held("cold")
            assert (store.held("flu"), other.held("flu")) == (False, False)
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                other.held("flu")

        asking = threading.Thread(target=ask)
        asking.start()
        try:  # a question that took the lock, for however short, would get one of them refused
            for _ in range(300):
                with store.holding("flu"):
                    pass
        finally:
            stop.set()
            asking.join()


def test_asking_leaves_nothing_behind(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        before = sorted(tmp_path.iterdir())
        assert not store.held("flu")
        assert sorted(tmp_path.iterdir()) == before


def test_a_system_without_locks_that_can_be_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.store.sqlite.lock_files._ASK", None)
    monkeypatch.setattr("ameles.store.sqlite.lock_files._SET", None)
    with new_store(tmp_path) as store:
        with store.holding("flu"):
            assert store.held("flu")
        assert not store.held("flu")


def test_a_second_hold_in_one_process_is_refused_and_frees_nothing(place: Place) -> None:
    with new_store(place) as store, new_store(place) as other, store.holding("flu"):
        for one in (store, other, store):
            with pytest.raises(StoreRefused, match="two values for one step"), one.holding("flu"):
                pass


def test_streams_are_held_apart_and_written_meanwhile(place: Place) -> None:
    with new_store(place) as store, new_store(place) as other:
        with store.holding("flu"), store.holding("cold"):
            with store.writing() as transaction:
                stream = launch(transaction)
            with other.writing() as transaction:
                transaction.set_position(stream, "row 1")
            with store.reading() as transaction:
                assert transaction.position(stream) == "row 1"
        with other.holding("cold"), other.holding("flu"):
            pass


@pytest.mark.parametrize("stream", ["../../etc/x", "a/b", "\u00fc", "", "\ud800", "%s"])
def test_every_name_can_be_held(place: Place, stream: str) -> None:
    with new_store(place) as store:
        for _ in range(2):
            with store.holding(stream), store.holding(f"{stream}x"):
                pass


def test_the_lock_ends_with_its_block(place: Place) -> None:
    with new_store(place) as store:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), store.holding("flu"):
                raise ZeroDivisionError


def test_two_paths_to_one_store_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with (
        new_store(tmp_path / "real") as store,
        new_store(tmp_path / "link") as same,
        store.holding("flu"),
        pytest.raises(StoreRefused, match="run by another process"),
        same.holding("flu"),
    ):
        pass


@pytest.mark.parametrize("stream", ["../../etc/x", "a/b", "ü", "..", "", "\ud800"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, stream: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    with held(folder / "flu.db", stream):
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["inner"]


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("1")
    (tmp_path / "flu.db-flu.lock").symlink_to(target)
    with pytest.raises(StoreRefused, match="lock file"), held(tmp_path / "flu.db", "flu"):
        pass
    assert target.read_text() == "1"


def test_a_lock_file_that_others_could_open_is_closed_to_them(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with held(store, "flu"):
        (lock,) = tmp_path.iterdir()
    lock.chmod(0o644)
    with held(store, "flu"):
        assert lock.stat().st_mode & 0o777 == 0o600
