"""The list of commands.  Each lives in a file of its own and has one entry here.

The file of a command is loaded when the command is called.  Loading all of them takes a second,
and ``--version`` and ``--help`` should not have to wait for that.
"""

from __future__ import annotations

from importlib import import_module, metadata
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from ameles.core.exceptions import BadInput

_STYLE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # plain help: it looks the same in a pipe and in the docs
    "pretty_exceptions_enable": False,  # a coloured traceback would print local variables
}


def examples(first: str, second: str) -> str:
    """The closing paragraph of a help text.

    >>> examples("ameles --version", "ameles doctor").splitlines()[1:]
    ['Examples:', '  ameles --version', '  ameles doctor']
    """
    keep_lines = "\b"  # tells the formatter not to fill the paragraph
    return f"{keep_lines}\nExamples:\n  {first}\n  {second}"


app = typer.Typer(
    help="Live statistics about people, under differential privacy.",
    epilog=examples("ameles --version", "ameles doctor"),
    no_args_is_help=True,
    **_STYLE,
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


class Whole(TyperCommand):
    """A command whose options never take another option as their value.

    By itself the parser takes the next word, whatever it is: ``--same-file --until 2026-01-01``
    would name a file '--until'.  ``--why=--odd`` gives such a value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuses an option without its value, then parses."""
        valued = {
            name
            for option in self.get_params(ctx)
            if isinstance(option, TyperOption) and not (option.is_flag or option.count)
            for name in option.opts
        }
        for option, following in pairwise(args):
            if option == "--":
                break
            if option in valued and following.startswith("--"):
                raise BadInput(
                    f"{option} needs a value, and '{following[:60]}' is an option.",
                    why="an option never takes the next option as its value",
                    tip=f"{option} VALUE, or {option}={following[:60]} if that is the value",
                )
        return super().parse_args(ctx, args)


class Later(TyperCommand):
    """A command whose file is loaded when it is called; before that, a name and a help line."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Loads the command and makes its context, so that Typer goes on with the real command."""
        return self.loaded().make_context(*given, **named)

    def loaded(self) -> Any:
        """The real command: the function that has the same name as its file."""
        name = self.name or ""
        alone = typer.Typer(**_STYLE)
        function = getattr(import_module(f"ameles.cli.{name}"), name)
        alone.command(name, cls=Whole, epilog=self.epilog)(function)
        return typer.main.get_command(alone)


def _command(name: str, does: str, first: str, second: str) -> None:
    """Registers a command with the first sentence of its help and two examples."""

    def later() -> None:
        raise AssertionError(name)  # never called: the loaded command is

    app.command(name, cls=Later, help=does, epilog=examples(first, second))(later)


_command(
    "demo",
    "Simulate an influenza site and publish its season.",
    "ameles demo",
    "ameles demo small --events 20000",
)
_command(
    "init",
    "Write a plan for a file.",
    "ameles init visits.csv --output first.toml --time reported_at --user '' "
    "--population visits --start 2025-10-01 --every 1d --horizon 182 --by '' --epsilon 1",
    "ameles init visits.csv --output second.toml --time reported_at --user device "
    "--max-per-step 1 --max-steps 6 --population visitors --start 2025-10-01 --every 1d "
    "--horizon 182 --by region --keys north,south,east,west --epsilon 1",
)
_command(
    "plan",
    "Say what a plan promises and how exact it will be.",
    "ameles plan",
    "ameles plan ameles.toml --json",
)
_command(
    "preview",
    "Try a plan before its launch, on a page with sliders.",
    "ameles preview",
    "ameles preview ameles.toml --around ameles.toml",
)
_command(
    "check",
    "Look at the source in secret: what a run would read, count and leave out.",
    "ameles check",
    "ameles check ameles.toml --json --secret-to look.json",
)
_command(
    "bounds",
    "Choose the bounds of a plan privately, and pay for that.",
    "ameles bounds --epsilon 0.1 --dry-run",
    "ameles bounds --epsilon 0.1 --grid max_per_step=1,2,5 --dry-run --json",
)
_command(
    "convert",
    "Convert CSV files to one Parquet file, even if they have newlines inside quotes.",
    "ameles convert visits.csv visits.parquet --skip-broken",
    "ameles convert visits.csv few.parquet --columns reported_at=timestamp,region=text "
    "--skip-broken",
)
_command(
    "run",
    "Release every step that has ended, and send it to the sinks.",
    "ameles run",
    "ameles run ameles.toml --until 2026-01-01 --yes --json",
)
_command(
    "serve",
    "Follow streams and show them over HTTP.",
    "ameles serve ameles.toml",
    "ameles serve ameles.toml --listen 127.0.0.1:9000 --log json --yes",
)
_command(
    "grafana",
    "Write a data source and dashboards with bands, which Grafana reads when it starts.",
    "ameles grafana ameles.toml",
    "ameles grafana --source postgres --url postgresql://grafana@localhost/flu",
)
_command(
    "token",
    "Make, list or revoke tokens: who may send, read or administer a plan's stream over HTTP.",
    "ameles token create --name dashboard --scope read",
    "ameles token list --json",
)
_command(
    "status",
    "Say where a stream stands: last and next release, lag, and budget.",
    "ameles status",
    "ameles status ameles.toml --json",
)
_command(
    "releases",
    "Show what has been published.",
    "ameles releases --release visits --key north",
    "ameles releases --format csv",
)
_command(
    "explain",
    "Say where the numbers of one release and step come from.",
    "ameles explain visits 98",
    "ameles explain outbreak 98 --json",
)
_command(
    "ledger",
    "Show what the population's budget was spent on, and what is left.",
    "ameles ledger --export",
    "ameles ledger --renew 0.5 --why 'a second season' --yes",
)
_command(
    "budget",
    "Open a named budget below a population's cap, renew its cap, or list all.",
    "ameles budget open study-a --epsilon 0.2",
    "ameles budget list --json",
)
_command(
    "query",
    "Ask a question about a table, in SQL, and pay for the answer.",
    'ameles query visits.csv "SELECT region, COUNT(*), AVG(age) FROM t WHERE fever '
    'GROUP BY region" --unit row --bounds age=0:120 --keys region=north,south,east,west '
    "--population people --store people.db --cap 1 --epsilon 0.2",
    'ameles query visits.csv "SELECT COUNT(DISTINCT device) FROM t" --unit user --user device '
    "--max-rows 3 --population visitors --store visitors.db --cap 1 --epsilon 0.1 --dry-run",
)
_command(
    "intrusion",
    "Announce that the state of a pan-private stream was seen, or list when it was.",
    "ameles intrusion list",
    "ameles intrusion announce door.toml --why 'the laptop was stolen'",
)
_command(
    "backup",
    "Copy a plan's store into one file, while streams run, and check the copy.",
    "ameles backup flu.backup",
    "ameles backup flu.backup ameles.toml --replace --json",
)
_command(
    "restore",
    "Put a backup in the place of the plans' store, if it has everything that was published.",
    "ameles restore flu.backup --dry-run",
    "ameles restore flu.backup ameles.toml --json",
)
_command(
    "retire",
    "Erase the state of a stream, which then never runs again.",
    "ameles retire flu --why 'the season is over' --yes",
    "ameles retire door door.toml --why 'the door is closed' --yes --json",
)
_command(
    "compact",
    "Forget what closed steps no longer need, and shrink the store.",
    "ameles compact",
    "ameles compact ameles.toml --json",
)
_command(
    "doctor",
    "Check that this machine has what Ameles needs.",
    "ameles doctor",
    "ameles doctor --json .",
)
_command(
    "audit",
    "Compute the privacy loss of mechanisms from their code.",
    "ameles audit SimpleOneCounter --horizon 8",
    "ameles audit --horizon 4 --json",
)
_command(
    "attack",
    "Attack published statistics, with made-up people, and see what helps.",
    "ameles attack",
    "ameles attack differencing --json",
)
_command(
    "compare",
    "Compare the counters that can give one guarantee.",
    "ameles compare --horizon 2^16 --epsilon 1",
    "ameles compare --unbounded --epsilon 0.5 --json",
)
