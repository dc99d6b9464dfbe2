"""``ameles compact``: forgets what closed steps no longer need, and shrinks the store."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, one_store, require_store, say
from ameles.engine.operating.compact import compact_store
from ameles.plan.plan import read_plan
from ameles.store import open_store


def compact(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The plans of the streams in the store; ameles.toml, if none is given.",
            metavar="[PLAN]...",
            readable=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forget what closed steps no longer need, and shrink the store.

    It forgets batch ids of closed steps and, of the plans given, users of windows that ended.
    Releases, ledger entries and positions stay.  No stream may run meanwhile.  The database is
    written anew, which needs as much free space as it has, and a table of Postgres is locked until
    it is written.
    """
    plans = [read_plan(file) for file in files or [DEFAULT]]
    url = one_store(plans)
    require_store(plans[0])
    with closing(open_store(url, create=False)) as store:
        streams = compact_store(plans, store)
    if as_json:
        typer.echo(json.dumps({"compacted": list(streams)}))
        return
    say(f"The store is compact; its streams are {', '.join(streams)}.", err=True)
