"""Files that are there after a power failure, and short digests that tell if they changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ameles.core.exceptions import AmelesError

SPAN = 4096  # bytes at an edge of a file that are remembered by their digest


def digest(path: Path, start: int, stop: int) -> str:
    """The SHA-256 of some bytes of a file, or of as many of them as it has."""
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(stop - start)).hexdigest()


def replace(path: Path, content: bytes) -> None:
    """Give a file this content: after a crash it has the old one or the new one, whole."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable: a file that was created or renamed there."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turns what the operating system refuses into an error about a sink."""
    try:
        yield
    except OSError as error:
        raise AmelesError(
            f"The sink {name} cannot be written.",
            why=f"{error.strerror or 'the operating system refuses'}",
            tip="run again when that is put right; what is released is in the store, and is sent "
            "again",
        ) from None
