"""The Java of this machine, which Spark runs in."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

OLDEST_JAVA = 17
_VERSION = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)


def java_program() -> Path | None:
    """The program that PySpark would start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java" if home is None else os.path.join(home, "bin", "java"))
    return None if found is None else Path(found)


def java_version(program: Path) -> int | None:
    """The first number of its version, from the file beside it that says so; None: not known."""
    try:
        said = (program.resolve().parents[1] / "release").read_text(errors="replace")
    except (IndexError, OSError):
        return None
    found = _VERSION.search(said)
    return None if found is None else int(found[1])
