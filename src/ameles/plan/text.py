"""Reads the text and the TOML of a plan file; refuses first what could take much time or memory.

A plan is a regular file below 1 MiB.  The memory of the standard library's TOML parser grows with
the square of the number of parts of a key: 50,000 parts in 100 kB take 5.8 GB.  So the parts are
counted before parsing; a plan needs at most three.

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

# Texts and comments, whose dots mean nothing; characters between two keys; and dots.  An unclosed
# text goes on to the end, where the TOML parser stops too.
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
    """The largest number of parts of a key in a TOML text; a number with a point counts as 2."""
    most = parts = 1
    for token in _TOKEN.finditer(text):
        if token["between"]:
            parts = 1
        elif token["dot"]:
            parts += 1
            most = max(most, parts)
    return most


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; numbers with a point stay exactly as written."""
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
                    why="every command reads the plan again, and its paths are relative to its "
                    "folder; so it cannot be a device or a pipe",
                    tip="ameles plan ameles.toml",
                )
            content = opened.read(LARGEST_FILE + 1)
    except OSError as problem:
        raise PlanError(
            f"The plan '{file}' cannot be read: {problem.strerror or problem}.",
            tip="ameles init FILE.csv writes a plan for a file",
        ) from None
    except ValueError:  # a NUL in the name
        raise PlanError("No file can have the name of this plan.") from None
    if len(content) > LARGEST_FILE:
        raise _too_large(f"'{file}'")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"'{file}' is not a text in UTF-8.", tip="save it as UTF-8") from None


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file without waiting, also if it is a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _too_large(what: str) -> PlanError:
    return PlanError(f"{what} is too large for a plan.", tip="a TOML file below 1 MiB")
