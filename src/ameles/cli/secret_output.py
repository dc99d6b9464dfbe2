"""Where a command writes exact numbers: the owner's terminal, or a new file for the owner alone.

Text on a terminal is gone when the terminal closes.  A pipe or a redirected file could end up in a
log, on a web page or in a backup, so it is refused; a file must be named with ``--secret-to``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ameles.core.exceptions import BadInput
from ameles.core.own_file import open_own

HEADING = "EXACT AND SECRET: these numbers are not private. Do not publish, log or send them."

SecretTo = Annotated[
    Path | None,
    typer.Option(
        "--secret-to",
        help="Write the exact numbers to this new file, which only you can read.",
        metavar="FILE",
    ),
]


@contextmanager
def secret_output(file: Path | None) -> Iterator[TextIO]:
    """Standard output, if it is a terminal, or a new file of mode 0600.

    If writing fails, the file is removed, so that the next try can use its name.
    """
    if file is None:
        if not sys.stdout.isatty():
            raise BadInput(
                "The output is exact and secret, and standard output is not a terminal.",
                why="piped or redirected output may end up where others read it",
                tip="a terminal, or --secret-to FILE, which makes a file that only you can read",
            )
        yield sys.stdout
        return
    with os.fdopen(_created(file), "w", encoding="utf-8") as opened:
        try:
            yield opened
        except BaseException:
            with suppress(OSError):
                file.unlink()
            raise


def _created(file: Path) -> int:
    """Creates a file that did not exist: nobody else has it open, and it is not a link."""
    try:
        return open_own(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        reason = "it already exists"
    except OSError as problem:
        reason = problem.strerror or "the operating system refuses it"
    raise BadInput(
        f"The file '{file}' cannot be made: {reason}.",
        why="exact numbers go into a new file, which nobody else has open",
        tip="--secret-to with a name that is free, in a folder of your own",
    )
