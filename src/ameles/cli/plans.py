"""What the commands about a plan share: the argument, the store, tables, progress bars."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from ameles.core.words import printable
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction, exists, open_store, public_address

DEFAULT = Path("ameles.toml")
QUIET_SECONDS = 1.0
PIPED_WIDTH = 200

PlanFile = Annotated[
    Path, typer.Argument(help="The plan, a TOML file.", metavar="PLAN", readable=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def with_plan(command: str, file: Path) -> str:
    """A command about this plan, as one types it; the usual plan need not be named.

    >>> with_plan("ameles run", DEFAULT), with_plan("ameles run", Path("my flu.toml"))
    ('ameles run', "ameles run 'my flu.toml'")
    """
    return command if file == DEFAULT else f"{command} {quote(str(file))}"


def name_plan(refusal: AmelesError, file: Path) -> AmelesError:
    """Completes a tip to run again: what has refused does not know where the plan is."""
    refusal.tip = refusal.tip.replace("ameles run --", f"{with_plan('ameles run', file)} --")
    return refusal


@contextmanager
def plan_named(file: Path) -> Iterator[None]:
    """Completes the tips of refusals."""
    try:
        yield
    except AmelesError as refusal:
        name_plan(refusal, file)
        raise


def store_path(plan: Plan) -> str:
    """The address of the plan's store; a path is relative to the plan."""
    url = plan.store.url
    return url if "://" in url else str(plan.base / url)


def one_store(plans: Sequence[Plan]) -> str:
    """The store that all plans name."""
    urls = {store_path(plan) for plan in plans}
    if len(urls) > 1:
        raise BadInput(
            "These plans have different stores.",
            why="this is about one store",
            tip="the plans that have the same url in [store]",
        )
    return urls.pop()


@contextmanager
def stored(plan: Plan, *, reading: bool = True) -> Iterator[Store]:
    """The plan's store, which must exist; if it is only read, its disk may be read-only."""
    require_store(plan)
    with closing(open_store(store_path(plan), create=False, reading=reading)) as store:
        yield store


def require_store(plan: Plan) -> None:
    """Refuses a plan whose store does not exist."""
    path = store_path(plan)
    if not exists(path):
        place = "" if "://" in path else " beside the plan"
        raise StoreRefused(
            f"There is no store '{public_address(plan.store.url)}'{place}.",
            why=f"stream '{plan.stream.name}' was not launched yet, or its store was moved",
            tip="ameles run, which launches a stream and spends its budget; or put the store back",
        )


def launched(transaction: Transaction, plan: Plan) -> StreamRecord:
    """The plan's stream, which must have been launched."""
    stream = transaction.stream(plan.stream.name)
    if stream is None:
        raise StoreRefused(
            f"Stream '{plan.stream.name}' was not launched yet.",
            why=f"the store '{public_address(plan.store.url)}' has no stream of this name",
            tip="ameles run, which launches it and spends its budget",
        )
    return stream


def known(kind: str, asked: str, names: Sequence[str]) -> None:
    """Refuses a name that is not in the list."""
    if asked not in names:
        listed = ", ".join(name or "''" for name in dict.fromkeys(names))
        raise BadInput(
            f"There is no {kind} {asked[:64]!r}.",
            tip=f"one of {listed}" if len(listed) < 500 else f"one of {listed[:500]}...",
        )


def say(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Prints lines.  All texts from plans and data go through it, or through ``table``."""
    for line in lines:
        typer.echo(printable(line), err=err, nl=nl)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Prints a table to standard output: the first ``left`` columns are words, then numbers."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)  # no wrapping in a file
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        grid.add_column(head, justify="left" if place < left else "right", no_wrap=place >= left)
    for row in rows:  # rich reads brackets in a plain str as markup
        grid.add_row(*(Text(printable(cell)) for cell in row))
    console.print(grid)


def moment(time: datetime | None) -> str:
    """A time for people, in UTC.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 1, 3, 7, tzinfo=UTC))
    '2026-01-03 07:00'
    """
    if time is None:
        return ""
    return f"{time:%Y-%m-%d %H:%M:%S}" if time.second else f"{time:%Y-%m-%d %H:%M}"


def progress() -> AbstractContextManager[Callable[[int, int], None]]:
    """Show a bar of released steps on standard error after one second, if it is a terminal.

    It shows steps, not rows: the number of rows is not public.
    """
    return _bar(TextColumn("releasing"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"))


def reading_progress(doing: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show a bar of bytes in the same way, for the commands of the data's owner."""
    return _bar(TextColumn(doing), BarColumn(), TaskProgressColumn())


@contextmanager
def _bar(*columns: ProgressColumn) -> Iterator[Callable[[int, int], None]]:
    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)

    def tell(done: int, of: int) -> None:
        bar.update(task, completed=done, total=of)

    if not sys.stderr.isatty():
        yield tell
        return
    # A thread draws the bar: reading before the first step may take long without reporting.
    timer = threading.Timer(QUIET_SECONDS, bar.start)
    timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
