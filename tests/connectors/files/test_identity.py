"""A file is identified by device and inode, when it is looked at and when it is opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.connectors.files.identity import ChangedMeanwhile, opened
from ameles.connectors.files.looks import Looks
from ameles.connectors.files.named_files import list_names
from ameles.core.exceptions import AmelesError


def elsewhere(real: Callable[..., os.stat_result]) -> Callable[..., Any]:
    """The same status, but of a file on another device."""

    def asked(*given: Any, **options: Any) -> Any:
        status = real(*given, **options)
        held = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        return SimpleNamespace(**held | {"st_dev": status.st_dev + 1})

    return asked


def test_the_same_inode_on_another_device_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_bytes(b"x\n")
    names = list_names("*.csv", tmp_path)
    looks = Looks(tmp_path)
    (file,) = looks.present(names)
    assert looks.present(names) == [file]
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", elsewhere(os.stat))
        (other,) = looks.present(names)
    assert other is not file
    assert other.inode[1] == file.inode[1]
    assert (other.inode, other.key) != (file.inode, file.key)


@pytest.mark.parametrize("moved", [False, True])
def test_a_file_is_opened_only_if_it_is_the_one_that_was_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n")
    (file,) = Looks(tmp_path).present(list_names("*.csv", tmp_path))
    with opened(file) as handle:
        assert os.read(handle, 9) == b"x\n"
    if moved:
        monkeypatch.setattr(os, "fstat", elsewhere(os.fstat))  # another disk is mounted there
    else:
        (tmp_path / "b").write_bytes(b"y\n")
        (tmp_path / "b").rename(path)
    with pytest.raises(AmelesError) as refused, opened(file):
        pass
    assert isinstance(refused.value, ChangedMeanwhile)
    assert "a.csv" in str(refused.value)
