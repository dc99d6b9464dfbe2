"""The list of commands.  Each lives in a file of its own and has one line here."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from ameles.cli.audit import audit
from ameles.cli.compare import compare
from ameles.cli.demo import demo
from ameles.cli.doctor import doctor
from ameles.cli.examples import examples
from ameles.cli.explain import explain
from ameles.cli.init import init
from ameles.cli.intrusion import intrusion
from ameles.cli.ledger import ledger
from ameles.cli.plan import plan
from ameles.cli.releases import releases
from ameles.cli.run import run
from ameles.cli.status import status

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


app.command(epilog=examples("ameles demo", "ameles demo small --events 20000"))(demo)
app.command(
    epilog=examples(
        "ameles init visits.csv --output first.toml --time reported_at --user '' "
        "--population visits --start 2025-10-01 --every 1d --horizon 182 --by '' --epsilon 1",
        "ameles init visits.csv --output second.toml --time reported_at --user device "
        "--max-per-step 1 --max-steps 6 --population visitors --start 2025-10-01 --every 1d "
        "--horizon 182 --by region --keys north,south,east,west --epsilon 1",
    )
)(init)
app.command(epilog=examples("ameles plan", "ameles plan ameles.toml --json"))(plan)
app.command(epilog=examples("ameles run", "ameles run ameles.toml --until 2026-01-01 --json"))(run)
app.command(epilog=examples("ameles status", "ameles status ameles.toml --json"))(status)
app.command(
    epilog=examples("ameles releases --release visits --key north", "ameles releases --format csv")
)(releases)
app.command(epilog=examples("ameles explain visits 98", "ameles explain outbreak 98 --json"))(
    explain
)
app.command(
    epilog=examples("ameles ledger --export", "ameles ledger --renew 0.5 --why 'a second season'")
)(ledger)
app.command(
    epilog=examples(
        "ameles intrusion list",
        "ameles intrusion announce door.toml --why 'the laptop was stolen'",
    )
)(intrusion)
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
