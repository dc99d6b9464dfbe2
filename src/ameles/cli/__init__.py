"""The command ``ameles``: one file a command, registered in ``commands``.

Results go to standard output, messages to standard error.  A refusal (``AmelesError``) is printed
as its own text, without a traceback; its class declares the exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from ameles.cli.core_dumps import forbid_core_dumps
from ameles.core.address import WHERE_SECRETS_GO, may_have_secret
from ameles.core.exceptions import AmelesError, BadInput

__all__ = ["main"]

INTERRUPTED = 130
PACKAGE = Path(__file__).parents[1]


class Unforeseen(AmelesError):
    """A bug in Ameles: an exception that is no refusal.  Published releases stay as they are."""

    code = "bug"


def app() -> None:
    """Reads the command line and does what it says."""
    # Imported here because it takes a second: Ctrl-C meanwhile must print no traceback.
    from ameles.cli.commands import app as commands

    commands()


def main() -> None:
    """Runs the command line; the entry point of the installed script."""
    forbid_core_dumps()  # nearly every command holds secrets, if only for a moment
    sys.exit(_outcome())


def _outcome() -> int:
    """Runs the command, prints what it refuses, and returns the exit code."""
    try:
        try:
            refuse_secrets(sys.argv[1:])
            app()
        finally:
            sys.stdout.flush()  # here, where a closed pipe is still caught below
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except AmelesError as refusal:
        typer.echo(str(refusal), err=True)
        return refusal.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Discard what is still buffered, so that Python does not complain when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as surprise:
        typer.echo(str(unforeseen(surprise)), err=True)
        return Unforeseen.exit_code
    return 0


def refuse_secrets(arguments: Sequence[str]) -> None:
    """Refuses a password in an argument, before anything can repeat it."""
    for place, each in enumerate(arguments, start=1):
        if may_have_secret(each) or may_have_secret(each.partition("=")[2]):
            raise BadInput(
                f"The {place}. argument may have a password or another secret in it.",
                why="other users of this machine see arguments, and the shell keeps them",
                tip=WHERE_SECRETS_GO,
            )


def unforeseen(surprise: Exception) -> Unforeseen:
    """The message about an unexpected exception: where it happened, but not its text.

    The text of an exception may quote an event that the program was working on.
    """
    place, trace = "", surprise.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            place = f" in {file.relative_to(PACKAGE)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return Unforeseen(
        f"Ameles failed with an unexpected error: {type(surprise).__name__}{place}.",
        why="its message is hidden, because it may quote events; what was released stays",
        tip="ameles doctor; and please report the first line",
    )
