"""The rows of a file that is moved about."""

from __future__ import annotations

from pathlib import Path

ROWS = [b"x,%d\n" % n for n in range(50)]
NUMBERS = [("x", n) for n in range(50)]


def moved(file: Path, name: str) -> Path:
    """The file under another name."""
    return file.rename(file.with_name(name))
