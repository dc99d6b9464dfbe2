"""The file of a store: private from its first moment, or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store.sqlite.database_file import prepare


def test_the_mode_is_part_of_the_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # not: created by the umask's rules, then changed
    modes: list[int] = []
    real = os.open

    def watched(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        handle = real(path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            assert flags & os.O_EXCL
            modes.append(os.fstat(handle).st_mode & 0o777)
        return handle

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        prepare(tmp_path / "flu.db", create=True)
    finally:
        os.umask(before)
    assert modes == [0o600]


def test_an_existing_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "flu.db"
    path.touch(mode=0o600)
    path.write_bytes(b"something")
    prepare(path, create=True)
    assert path.read_bytes() == b"something"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "flu.db"
    path.touch()
    path.chmod(mode)
    with pytest.raises(StoreRefused, match=rf"its mode is {mode:04o}(?s:.*)chmod 600"):
        prepare(path, create=True)


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flu.db"
    path.touch(mode=0o400)
    with pytest.raises(StoreRefused, match="cannot be written: its mode is 0400"):
        prepare(path, create=True)


def test_what_is_not_there_is_refused_if_it_must_be(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="There is no store at"):
        prepare(tmp_path / "flu.db", create=False)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"There is no folder '.*nowhere'"):
        prepare(tmp_path / "nowhere" / "flu.db", create=True)
    (tmp_path / "file").touch()
    with pytest.raises(StoreRefused, match="There is no folder"):
        prepare(tmp_path / "file" / "flu.db", create=True)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="is not a file"):
        prepare(tmp_path, create=True)


@pytest.mark.parametrize("problem", [PermissionError(13, "x"), OSError(28, "x"), OSError(30, "x")])
def test_other_failures_of_the_disk_are_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: OSError
) -> None:
    def failing(*_: object, **__: object) -> int:
        raise problem

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(StoreRefused, match="cannot be opened or created") as caught:
        prepare(tmp_path / "flu.db", create=True)
    assert caught.value.why
    assert caught.value.tip


def test_a_very_long_name_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="file name too long"):
        prepare(tmp_path / ("x" * 300), create=True)
