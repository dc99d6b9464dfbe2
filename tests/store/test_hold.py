"""One process per stream, whatever happens to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store.hold import held
from tests.store.stores import new_store

HOLD = """
import sys, time
from pathlib import Path
from ameles.store.hold import held
with held(Path(sys.argv[1]), "flu"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "flu.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(StoreRefused, match=rf"another process \({process.pid}\)"),
            held(store, "flu"),
        ):
            pass
        with held(store, "cold"):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    with held(store, "flu"):
        pass


def test_a_second_hold_in_one_process_is_refused_and_frees_nothing(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.holding("flu"):
        for _ in range(2):
            with pytest.raises(StoreRefused, match="two values for one step"), store.holding("flu"):
                pass


def test_the_lock_ends_with_its_block(tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), held(tmp_path / "flu.db", "flu"):
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
