"""The list of commands.  Each lives in a file of its own and has one line here."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from ameles.cli.audit import audit
from ameles.cli.compare import compare
from ameles.cli.doctor import doctor
from ameles.cli.examples import examples

app = typer.Typer(
    help="Live statistics about people, under differential privacy.",
    epilog=examples("ameles --version", "ameles doctor"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: it looks the same in a pipe and in the docs
    pretty_exceptions_enable=False,  # a coloured traceback would print local variables
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ameles {metadata.version('ameles')}")
        raise typer.Exit


@app.callback()
def ameles(
    version: Annotated[  # the callback prints it and ends the program
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Live statistics about people, under differential privacy."""


app.command(epilog=examples("ameles doctor", "ameles doctor --json ."))(doctor)
app.command(
    epilog=examples("ameles audit SimpleOneCounter --horizon 8", "ameles audit --horizon 4 --json")
)(audit)
app.command(
    epilog=examples(
        "ameles compare --horizon 2^16 --epsilon 1",
        "ameles compare --unbounded --epsilon 0.5 --json",
    )
)(compare)
