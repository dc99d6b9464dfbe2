"""Planted links: a sink never writes through one, whoever put it there."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ameles.connectors.own_folder import SinkPlace
from ameles.connectors.sink import Sink
from ameles.connectors.sinks import open_sink
from ameles.core.exceptions import AmelesError, PlanError
from tests.connectors.records import records

NOBODY = 65534
KINDS = ("csv", "jsonl", "parquet")
# What a sink may have in its folder, now or for a moment.
NAMES = ("r.csv", "r.csv.ameles", "r.csv.new", "r.csv.ameles.new")


def sink(folder: Path, kind: str = "csv") -> Sink:
    return open_sink(kind, f"r.{kind}", folder, stream="flu", identity="one")


def as_nobody(act: Callable[[], object]) -> None:
    """Does something as another user, where this one may; else as this one."""
    child = os.fork()
    if not child:
        code = 1
        try:
            if not os.geteuid():
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder such as /tmp, in which everybody may write."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    return shared


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["", ".ameles", ".new", ".ameles.new"])
@pytest.mark.parametrize("content", [b"", b"precious"])
@pytest.mark.parametrize("hard", [False, True])
def test_nothing_is_written_through_a_link(
    kind: str, ending: str, content: bytes, hard: bool, shared: Path, tmp_path: Path
) -> None:
    victim, planted = tmp_path / "victim", shared / f"r.{kind}{ending}"
    victim.write_bytes(content)
    if hard:
        os.link(victim, planted)  # many systems let only the owner of a file do so
    else:
        as_nobody(lambda: planted.symlink_to(victim))
    with suppress(AmelesError):
        sink(shared, kind).write(records(1, 1), 1)
        sink(shared, kind).write(records(1, 2), 2)
    assert victim.read_bytes() == content


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_to_nothing_makes_nothing(kind: str, shared: Path, tmp_path: Path) -> None:
    as_nobody(lambda: (shared / f"r.{kind}").symlink_to(tmp_path / "made"))
    with pytest.raises(AmelesError, match="is a link"):
        sink(shared, kind).write(records(1, 1), 1)
    assert not (tmp_path / "made").exists()


def test_a_link_that_comes_later_is_not_followed_either(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    for name in NAMES[:2]:
        here = sink(shared)
        here.write(records(here.first_needed(0), 1), 1)
        (shared / name).rename(tmp_path / name)
        os.symlink(victim, shared / name)
        with pytest.raises(AmelesError, match="is a link"):
            here.write(records(2, 2), 2)
        (shared / name).unlink()
        (tmp_path / name).rename(shared / name)
    assert victim.read_bytes() == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can act as two users")
@pytest.mark.parametrize("name", ["r.csv", "r.csv.ameles"])
def test_a_file_of_another_user_is_not_taken(name: str, shared: Path) -> None:
    as_nobody(lambda: (shared / name).touch())
    with pytest.raises(AmelesError, match="belongs to another user"):
        sink(shared).write(records(1, 1), 1)
    assert (shared / name).read_bytes() == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can act as two users")
def test_a_folder_of_another_user_is_not_taken(shared: Path) -> None:
    as_nobody((shared / "r.parquet").mkdir)
    with pytest.raises(AmelesError, match="belongs to another user"):
        sink(shared, "parquet").write(records(1, 1), 1)
    assert not [*(shared / "r.parquet").iterdir()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can act as two users")
def test_files_of_whoever_owns_the_folder_are_taken(tmp_path: Path) -> None:
    """The administrator may run a stream of somebody's by hand."""
    sink(tmp_path).write(records(1, 1), 1)
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    sink(tmp_path).write(records(2, 2), 2)
    assert sink(tmp_path).last() == 2


def test_a_second_name_of_another_file_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    os.link(tmp_path / "other", tmp_path / "r.csv")
    with pytest.raises(AmelesError, match="not written by Ameles"):
        sink(tmp_path)


@pytest.mark.parametrize("name", ["r.csv", "r.csv.ameles"])
def test_a_pipe_blocks_nobody(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(AmelesError, match="is not a file"):
        sink(tmp_path)


def test_links_above_the_folder_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    place = SinkPlace.of("csv:x", "link/../link/x.csv", tmp_path)
    assert place.path == tmp_path.resolve() / "there" / "x.csv"


@pytest.mark.parametrize("target", ["", "a/..", ".", "missing/x.csv", "\0", "x" * 201])
def test_what_is_no_name_of_a_file_is_refused(target: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError):
        SinkPlace.of("csv:x", target, tmp_path)


def test_a_replaced_file_is_new(tmp_path: Path) -> None:
    """Also where something was left under the name that it has for a moment."""
    (tmp_path / "x.new").symlink_to(tmp_path / "victim")
    with SinkPlace.of("csv:x", "x", tmp_path).entered() as folder:
        folder.replace("x", b"content")
        assert folder.look("x.new") is None
    assert (tmp_path / "x").read_bytes() == b"content"
    assert stat.S_ISREG((tmp_path / "x").lstat().st_mode)
    assert not (tmp_path / "victim").exists()
