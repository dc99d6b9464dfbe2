"""What is needed to connect to a server and must not be in a plan: passwords, keys, certificates.

It is a TOML file that only its owner can read.  Its keys are options of the client.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from ameles.core.exceptions import PlanError


def read_connection(file: Path | None) -> dict[str, Any]:
    """The options in a connection file; none without a file."""
    if file is None:
        return {}
    try:
        with file.open("rb") as handle:
            mode = os.fstat(handle.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise PlanError(
                    f"The connection file '{file.name}' can be read by others.",
                    why="it may have a password",
                    tip=f"chmod 600 '{file.name}'",
                )
            return tomllib.load(handle)
    except OSError as problem:
        raise PlanError(
            f"The connection file '{file.name}' cannot be read: {problem.strerror}.",
            tip="a path from the folder of the plan",
        ) from None
    except ValueError:  # the parser's message quotes the file
        raise PlanError(
            f"The connection file '{file.name}' is not TOML in UTF-8.", tip='password = "..."'
        ) from None
