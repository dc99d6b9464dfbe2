"""Settings of hypothesis for these tests, a folder in memory, and followers without patience."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ameles.engine.following import arrivals, batch_writer

# The number of examples of another folder's profile would stay.
settings.load_profile("anywhere")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder of a file system in memory, where Linux has one."""
    base = Path("/", "dev", "shm") / f"ameles-tests-{os.getpid()}"
    try:
        base.mkdir(mode=0o700)
    except OSError:
        pytest.skip("needs a tmpfs at /dev/shm")
    yield base
    shutil.rmtree(base)


@pytest.fixture
def quick_following(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that follow a stream look often."""
    monkeypatch.setattr(arrivals, "PATIENCE", 0.005)
    monkeypatch.setattr(arrivals, "QUIET", 0.02)
    monkeypatch.setattr(batch_writer, "PATIENCE", 0.005)
