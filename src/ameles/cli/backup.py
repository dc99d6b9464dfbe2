"""``ameles backup``: copies a store while it is in use, and checks the copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, require_store, say, store_path
from ameles.plan.plan import read_plan
from ameles.store import write_backup


def backup(
    to: Annotated[Path, typer.Argument(help="The file to write.", metavar="FILE", readable=False)],
    file: PlanFile = DEFAULT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an older backup of this name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a plan's store into one file, while streams run, and check the copy.

    The copy is of one moment and has all streams of the store.  It is as secret as the store, and
    only you can read it.  It has no key of a pan-private state: such a state cannot be restored.
    """
    checked = read_plan(file)
    require_store(checked)
    streams = write_backup(store_path(checked), to, replace=replace)
    if as_json:
        listed = [{"stream": one.stream, "released": one.released} for one in streams]
        typer.echo(json.dumps({"backup": str(to), "streams": listed}))
        return
    for one in streams:
        say(f"{one.stream}: step {one.released}" if one.released else f"{one.stream}: no step yet")
    say(f"Wrote '{to}' and checked it. It is as secret as the store.", err=True)
