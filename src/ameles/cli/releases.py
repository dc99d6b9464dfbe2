"""``ameles releases``: what a stream has published, from its store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import islice
from typing import Annotated, TypeVar

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, known, launched, moment, say, stored, table
from ameles.connectors.records import FORMATS
from ameles.core.exceptions import BadInput
from ameles.core.release import Release
from ameles.core.words import brief
from ameles.plan.plan import read_plan

SHOWN = 40  # lines of a table; one step is always shown whole
AT_ONCE = 4096
T = TypeVar("T")


class Rendering(Enum):
    """How releases are printed."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"


def releases(
    file: PlanFile = DEFAULT,
    name: Annotated[
        str | None, typer.Option("--release", help="Only this release.", metavar="NAME")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Only this key.", metavar="KEY")] = None,
    first: Annotated[int, typer.Option(help="From this step on.", min=1, metavar="STEP")] = 1,
    last: Annotated[
        int | None, typer.Option(help="Up to this step.", min=1, metavar="STEP")
    ] = None,
    form: Annotated[
        Rendering, typer.Option("--format", help="A table of the last releases, or all of them.")
    ] = Rendering.TABLE,
    as_json: AsJson = False,
) -> None:
    """Show what has been published.

    The table shows the last releases; csv and jsonl print all of them, as the sinks have them.
    """
    checked = read_plan(file)
    form = Rendering.JSONL if as_json else form
    if last is not None and last < first:
        raise BadInput(
            f"--first {first} is after --last {last}: there are no steps between them.",
            tip=f"--first {last} --last {first}",
        )
    with stored(checked) as store, store.reading() as transaction:
        stream = launched(transaction, checked)
        lines = transaction.series(stream)
        if name is not None:
            names = [line.release for line in lines]
            known("release", name, [*names, *sorted(transaction.entries_of(stream))])
        wanted = [line for line in lines if name in (None, line.release)]
        if key is not None:
            known("key", key, [line.key for line in wanted])
        if form is not Rendering.TABLE:
            rows = transaction.release_rows(stream, release=name, key=key, first=first, last=last)
            _print(rows, form)
            return
        keys = sum(key in (None, line.key) for line in wanted)
        end = stream.released if last is None else min(last, stream.released)
        shown = max(first, end - max(1, SHOWN // max(1, keys)) + 1)
        some = transaction.releases(stream, release=name, key=key, first=shown, last=end)
        first_ones = list(islice(some, 4 * SHOWN))
    _show(first_ones)
    if not first_ones:
        at = f"the stream is at step {stream.released}"
        say(f"Nothing was released there; {at}.", err=True)
        return
    say("low to high covers 95% of the privacy noise, and no other error.", err=True)
    if shown > first:
        say(f"Steps from {shown} on are shown; --format csv prints all.", err=True)


def _print(rows: Iterable[tuple[object, ...]], form: Rendering) -> None:
    format_ = FORMATS[form.value]
    sys.stdout.write(format_.header)
    for some in _batches(rows):
        sys.stdout.write(format_.lines(some))


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(rows)
    while some := list(islice(remaining, AT_ONCE)):
        yield some


def _show(some: list[Release]) -> None:
    heads = ["release", "key", "label", "ends (UTC)", "step", "value", "low", "high"]
    rows = [
        [
            release.release,
            release.key,
            release.label,
            moment(release.end),
            str(release.step),
            *map(brief, (release.value, release.low, release.high)),
        ]
        for release in some
    ]
    left = 4
    for place in (2, 1):  # leave out a column that is empty
        if not any(row[place] for row in rows):
            del heads[place]
            for row in rows:
                del row[place]
            left -= 1
    table(heads, rows, left=left)
