"""The text of a plan file, and its TOML: what could take long or much memory is refused first.

A plan is a regular file below 1 MiB.  The standard library's reader of TOML takes memory with the
square of the number of parts of a key: 50,000 parts in 100 kB take 5.8 GB.  So the parts are
counted before it sees the text; a plan needs three.

>>> most_parts('a.b = "c.d.e.f"  # g.h.i.j'), most_parts("[a.b . c]"), most_parts("at = 1.5")
(2, 3, 2)
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from ameles.core.exceptions import PlanError

LARGEST_FILE = 1 << 20
MOST_PARTS = 8  # of a key, between its dots

# Texts and comments, in which dots mean nothing; what stands between two keys; and dots.  A text
# that is not closed goes on to the end, where the reader of TOML stops too.
_TOKEN = re.compile(
    r"""
      "{3} (?: [^"\\]++ | \\. | "(?!"") )*+ "{0,5}
    | '{3} (?: [^']++ | '(?!'') )*+ '{0,5}
    | " (?: [^"\\\n]++ | \\[^\n] )*+ "?
    | ' [^'\n]*+ '?
    | \# [^\n]*+
    | (?P<between> [=,\[\]{}\n] )
    | (?P<dot> \. )
    """,
    re.VERBOSE | re.DOTALL,
)


def most_parts(text: str) -> int:
    """How many parts the key of a TOML text has that has the most; a number with a point has 2."""
    most = parts = 1
    for token in _TOKEN.finditer(text):
        if token["between"]:
            parts = 1
        elif token["dot"]:
            parts += 1
            most = max(most, parts)
    return most


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; numbers with a point as they are written."""
    if len(text) > LARGEST_FILE:
        raise _too_large("The plan")
    if most_parts(text) > MOST_PARTS:
        raise PlanError(
            f"The plan has a key of more than {MOST_PARTS} parts.",
            why="no key of a plan has more than three, as in release.by.region",
            tip='a table in square brackets; a name with dots in quotes, as in "a.b"',
        )
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise PlanError(
            "The plan has lists or tables that are nested too deep.",
            why="nothing in a plan needs more than three levels",
        ) from None
    except ValueError as problem:  # also a whole number of thousands of digits
        raise PlanError(
            f"The plan is not TOML: {problem}.",
            tip="a text in quotes, a table in square brackets",
        ) from None


def read_text(file: Path) -> str:
    """The text of a plan file."""
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise PlanError(
                    f"'{file}' is not a file with a plan in it.",
                    why="a plan is read again with every command, and paths in it are from its "
                    "folder; a device or a pipe will not do",
                    tip="ameles plan ameles.toml",
                )
            content = opened.read(LARGEST_FILE + 1)
    except OSError as problem:
        raise PlanError(
            f"The plan '{file}' cannot be read: {problem.strerror or problem}.",
            tip="ameles init FILE.csv writes a plan for a file",
        ) from None
    except ValueError:  # a NUL in the name
        raise PlanError("The name of the plan is none that a file can have.") from None
    if len(content) > LARGEST_FILE:
        raise _too_large(f"'{file}'")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"'{file}' is not a text in UTF-8.", tip="save it as UTF-8") from None


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe too, for whose writer opening would wait otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)


def _too_large(what: str) -> PlanError:
    return PlanError(f"{what} is too large for a plan.", tip="a TOML file below 1 MiB")
