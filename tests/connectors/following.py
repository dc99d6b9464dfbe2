"""A source that is read again and again, with its position as a store would have it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.source import SeekableSource
from tests.connectors.opening import open_files
from tests.connectors.reading import rows_of
from tests.temporary import in_memory

COLUMNS = {"name": "text", "n": "integer"}
HEADER = b"name,n\n"
NOBODY = 65534


class Following:
    """Every reading is committed at once."""

    def __init__(self, folder: Path, pattern: str, **options: Any) -> None:
        self.folder = folder
        self.pattern = pattern
        self.options = options
        self.source: SeekableSource[Any] = self.opened()
        self.position: str | None = None

    def opened(self, declarations: Declarations = NOTHING) -> SeekableSource[Any]:
        return open_files(
            self.pattern,
            COLUMNS,
            self.folder,
            waiting=True,
            declarations=declarations,
            **self.options,
        )

    def read(self, ends: dict[str, int] | None = None) -> list[tuple[Any, ...]]:
        """What is new, once."""
        reading = self.source.reading(self.position, ends)
        rows = sorted(rows_of(reading, COLUMNS))
        self.position = reading.position
        return rows

    def restart(self, *, same: str = "", new: str = "") -> None:
        """As a new process, in which the owner may say what a file is."""
        self.source = self.opened(
            Declarations((same,) if same else (), (new,) if new else ()),
        )

    @property
    def marks(self) -> list[dict[str, Any]]:
        """The marks in the position."""
        files: list[dict[str, Any]] = json.loads(self.position or "")["files"]
        return files

    def alter(self, **fields: Any) -> None:
        """As if the only file that was read had been known by other numbers."""
        document = json.loads(self.position or "")
        (mark,) = document["files"]
        mark.update(fields)
        self.position = json.dumps(document)
        self.restart()

    def rename_inode(self, before: int, now: int) -> None:
        """As if what was read had been known by another inode, or by none that is still there."""
        document = json.loads(self.position or "")
        for mark in document["files"]:
            if mark["inode"] == before:
                mark["inode"] = now
        self.position = json.dumps(document)
        self.restart()


def write(folder: Path, name: str, *lines: bytes) -> Path:
    file = folder / name
    file.write_bytes(HEADER + b"".join(lines))
    return file


def append(file: Path, *lines: bytes) -> None:
    with file.open("ab") as more:
        more.write(b"".join(lines))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """A file that may not be opened, by root neither; for a handle that reads nothing it may."""
    real = os.open

    def refusing(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        named = os.path.exists(path) and os.path.samefile(path, file)
        if named and not flags & getattr(os, "O_PATH", 0):
            raise PermissionError
        return real(path, flags, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refusing)
        yield


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """A folder that may not be looked into.  Root may always, so then somebody else does."""
    mode, root = folder.stat().st_mode, os.geteuid() == 0
    folder.chmod(0)
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(mode)


@contextmanager
def place_for_all() -> Iterator[Path]:
    """A folder that everybody may look into; those of pytest are its user's own."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        Path(name).chmod(0o755)
        yield Path(name)
