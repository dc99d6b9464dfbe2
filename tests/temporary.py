"""Where the temporary folders of tests are: in memory where there is room, otherwise on disk.

A store waits for the disk at every step, and a test's folder is deleted after it: in memory both
take no time.  Tests that are about files of a real file system (which file is the same one, what
is left of what was overwritten) get folders on the disk: the modules of ``ON_DISK``, and whatever
uses ``tempfile``, as the fault laboratory does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

IN_MEMORY = Path("/dev", "shm")  # a file system of Linux
ROOM = 2 << 30  # bytes, more than any test's server needs
ROOT = "PYTEST_DEBUG_TEMPROOT"  # pytest's own name for where it makes its folders
ON_DISK = {
    "connectors": ("appended_sink", "first_positions", "second_positions"),
    "connectors/files": (
        *("file_histories", "file_neighbours", "matching", "rotation", "same_files"),
    ),
    "connectors/parquet": ("sink", "source"),
    "engine": (
        *("changing_files", "launched_files", "rotated", "sealed_search", "vault", "vault_crash"),
        *("vault_ends", "vault_power", "vault_process", "vault_search", "vault_slot", "vault_tier"),
    ),
    "store/sqlite": ("database_file", "problems", "store"),
}
TESTS = Path(__file__).parent


def in_memory(folder: Path = IN_MEMORY) -> Path | None:
    """The folder in memory, if it has room and programs in it may be started."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return None
    if os.statvfs(folder).f_flag & os.ST_NOEXEC or shutil.disk_usage(folder).free < ROOM:
        return None
    return folder


def prefer_memory() -> None:
    """Tells pytest to make its folders in memory; whoever has said where is obeyed."""
    if (folder := in_memory()) is not None:
        os.environ.setdefault(ROOT, str(folder))


def is_on_disk(module: Path) -> bool:
    """Whether the tests of a module get folders on the disk."""
    inside = module.relative_to(TESTS) if module.is_relative_to(TESTS) else Path()
    return inside.stem.removeprefix("test_") in ON_DISK.get(str(inside.parent), ())


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """pytest's own, or a folder on the disk for tests that are about files there."""
    if not is_on_disk(request.path):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="ameles-test-", ignore_cleanup_errors=True) as name:
        yield Path(name)
