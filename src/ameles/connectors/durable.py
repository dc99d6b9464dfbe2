"""Files that survive a power failure, and short digests that show whether they changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ameles.core.exceptions import AmelesError

SPAN = 4096  # bytes at each end of a file whose digest is kept


def digest(path: Path, start: int, stop: int) -> str:
    """The SHA-256 of the bytes from ``start`` to ``stop``, or to the end of a shorter file."""
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(stop - start)).hexdigest()


def replace(path: Path, content: bytes) -> None:
    """Replace a file atomically: after a crash it has the old content or the new one, whole."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, after a file was created or renamed there."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turns an error of the operating system into a refusal about a sink."""
    try:
        yield
    except OSError as error:
        raise AmelesError(
            f"The sink {name} cannot be written.",
            why=f"{error.strerror or 'the operating system refuses'}",
            tip="fix that and run again; the releases are in the store, and will be sent again",
        ) from None
