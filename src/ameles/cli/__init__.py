"""The command ``ameles``: one file a command, registered in ``commands``.

Results go to standard output, talk to standard error.  What Ameles refuses is printed as
its own text, without a traceback, and becomes the exit code that its class declares.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from ameles.core.exceptions import AmelesError

__all__ = ["main"]

INTERRUPTED = 130
PACKAGE = Path(__file__).parents[1]


class Unforeseen(AmelesError):
    """An error of our own; what was released stays."""

    code = "bug"


def app() -> None:
    """Reads the command line and does what it says."""
    # Here, because it takes a second in which a person may change their mind.
    from ameles.cli.commands import app as commands

    commands()


def main() -> None:
    """Runs the command line; the entry point of the installed script."""
    sys.exit(_outcome())


def _outcome() -> int:
    """The exit code, after everything was said."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # now, while a reader that has gone can still be told apart
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except AmelesError as refusal:
        typer.echo(str(refusal), err=True)
        return refusal.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered goes nowhere, and Python shall not complain about that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as surprise:
        typer.echo(str(unforeseen(surprise)), err=True)
        return Unforeseen.exit_code
    return 0


def unforeseen(surprise: Exception) -> Unforeseen:
    """What is said about an error of our own: where it happened, not its text.

    Texts of errors quote what the program was working on, which may be an event.
    """
    place, trace = "", surprise.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            place = f" in {file.relative_to(PACKAGE)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return Unforeseen(
        f"Something went wrong that Ameles does not know: {type(surprise).__name__}{place}.",
        why="its message is withheld, because it may quote events; what was released stays",
        tip="ameles doctor; and please report this line",
    )
