"""What commands share that compute for a while and then write a file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.status import Status

from ameles.core.exceptions import BadInput
from ameles.core.words import printable

QUIET_SECONDS = 1.0


@contextmanager
def patience(text: str) -> Iterator[None]:
    """Shows a message on standard error after one second, if it is a terminal."""
    status = Status(text, console=Console(stderr=True))
    timer = threading.Timer(QUIET_SECONDS, status.start)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Says that a file was written, or why it could not be."""
    try:
        yield
    except OSError as problem:
        raise BadInput(
            f"The file '{file}' cannot be written: {problem.strerror or problem}.",
            tip="a folder that exists and that you may write to",
        ) from problem
    typer.echo(printable(f"Wrote {file}."), err=True)
