"""Where a command writes what is exact: the owner's terminal, or a new file for the owner alone.

What is shown on a terminal is gone with it.  A pipe or a file of the shell could end in a log, on a
page or in a backup, so it is refused; a file must be asked for by its name.
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

HEADING = "EXACT AND SECRET: these numbers are not private. Do not publish, log or send them."

SecretTo = Annotated[
    Path | None,
    typer.Option(
        "--secret-to",
        help="Write what is exact to this new file, which only you can read.",
        metavar="FILE",
    ),
]


@contextmanager
def secret_output(file: Path | None) -> Iterator[TextIO]:
    """Standard output, if it is a terminal, or a new file of mode 0600.

    The file is removed if what was to be written fails, so that its name is free for the next try.
    """
    if file is None:
        if not sys.stdout.isatty():
            raise BadInput(
                "What this command shows is exact and secret, and standard output is no terminal.",
                why="what is piped or redirected may end where others read it",
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
    """A file that was not there: nobody can have it open, and no link leads elsewhere."""
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        reason = "it is there already"
    except OSError as problem:
        reason = problem.strerror or "the operating system refuses it"
    raise BadInput(
        f"The file '{file}' cannot be made: {reason}.",
        why="what is exact goes into a new file, which nobody else has open",
        tip="--secret-to with a name that is free, in a folder of your own",
    )


def printable(text: str) -> str:
    """A text from the data, without what could command a terminal.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)
