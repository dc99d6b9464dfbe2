"""The command ``ameles``: one file a command, registered in ``commands``.

Results go to standard output, talk to standard error.  What Ameles refuses is printed as
its own text, without a traceback, and becomes the exit code that its class declares.
"""

from __future__ import annotations

import sys

import typer

from ameles.cli.commands import app
from ameles.core.exceptions import AmelesError

__all__ = ["main"]


def main() -> None:
    """Runs the command line; the entry point of the installed script."""
    try:
        app()
    except AmelesError as refusal:
        typer.echo(str(refusal), err=True)
        sys.exit(refusal.exit_code)
