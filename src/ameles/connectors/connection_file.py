"""What is needed to connect to a server and must not be in a plan: passwords, keys, certificates.

It is a TOML file that only its owner can read.  Its keys are options of the client.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ameles.connectors.private_file import private_bytes
from ameles.core.exceptions import PlanError

_MAKE = """(umask 077; echo 'password = "..."' > server.toml)"""
_MOST = 1 << 16  # bytes of the file


def read_connection(file: Path | None) -> dict[str, Any]:
    """The options in a connection file; none without a file."""
    if file is None:
        return {}

    def refused(what: str, tip: str) -> PlanError:
        return PlanError(
            f"The connection file '{file.name}' {what}.", why="it may have a password", tip=tip
        )

    content = private_bytes(file, _MOST, refused, _MAKE)
    try:
        if len(content) > _MOST:
            raise ValueError
        return tomllib.loads(content.decode())
    except ValueError:  # the parser's message quotes the file
        raise refused("must be TOML in UTF-8, of at most 64 KiB", _MAKE) from None
