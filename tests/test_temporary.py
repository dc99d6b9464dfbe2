"""Which tests get folders in memory, and which on the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import temporary
from tests.temporary import ON_DISK, TESTS, in_memory, is_on_disk, prefer_memory

pytest_plugins = ["pytester"]


@pytest.fixture
def roomy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has room and may start programs."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=temporary.ROOM))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=0))
    return tmp_path


def test_folders_are_in_memory_where_there_is_room(roomy: Path) -> None:
    assert in_memory(roomy) == roomy
    assert in_memory(roomy / "missing") is None


def test_too_little_room_means_the_disk(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=temporary.ROOM - 1))
    assert in_memory(roomy) is None


def test_where_no_program_may_start_the_disk_is_used(
    roomy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    assert in_memory(roomy) is None


def test_who_says_where_is_obeyed(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "in_memory", lambda: roomy)
    monkeypatch.setenv(temporary.ROOT, "elsewhere")
    prefer_memory()
    assert os.environ[temporary.ROOT] == "elsewhere"
    monkeypatch.delenv(temporary.ROOT)
    prefer_memory()
    assert os.environ[temporary.ROOT] == str(roomy)


def test_modules_that_are_about_files_are_there() -> None:
    for folder, names in ON_DISK.items():
        for name in names:
            module = TESTS / folder / f"test_{name}.py"
            assert module.is_file()
            assert is_on_disk(module)
    assert not is_on_disk(Path(__file__))
    assert not is_on_disk(Path("/elsewhere/test_vault.py"))


def test_their_folders_are_not_in_memory(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = pytester.mkdir("memory")
    monkeypatch.setenv(temporary.ROOT, str(memory))
    monkeypatch.setattr(temporary, "TESTS", pytester.path)
    monkeypatch.setattr(temporary, "ON_DISK", {".": ("of_files",)})
    pytester.makeconftest("from tests.temporary import tmp_path")
    inside = f"tmp_path.is_relative_to({str(memory)!r})"
    pytester.makepyfile(
        test_of_files=f"def test_it(tmp_path):\n    assert not {inside}\n",
        test_others=f"def test_it(tmp_path):\n    assert {inside}\n",
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
