"""``ameles restore``: puts a backup in the place of a store, unless it would publish again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, moment, one_store, say
from ameles.engine.operating.restore_checks import check_behind
from ameles.plan.plan import Plan, read_plan
from ameles.store import Backup, opened_backup, public_address
from ameles.store import restore as restore_store

_WORK = ".restoring"


def restore(
    from_: Annotated[
        Path, typer.Argument(help="The backup to restore.", metavar="FILE", readable=False)
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The plans of the streams in it; ameles.toml, if none is given.",
            metavar="[PLAN]...",
            readable=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, and restore nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the plans' store, if it has everything that was published.

    A backup that is behind a sink, a vault or the store that it would replace is refused, because
    the stream would publish other numbers for the same steps.  No stream may run meanwhile.  The
    store is replaced as a whole or not at all.
    """
    plans = [read_plan(file) for file in files or [DEFAULT]]
    url = one_store(plans)
    unseen: tuple[str, ...] = ()

    def compare(backup: Backup) -> None:
        nonlocal unseen
        unseen = check_behind(plans, backup)

    with opened_backup(from_, work=_work(plans[0], url)) as backup:
        restore_store(backup, url, check=compare, dry_run=dry_run)
        streams = {one.name: one.released for one in backup.streams}
        made = backup.made
    if as_json:
        listed = [{"stream": name, "released": step} for name, step in streams.items()]
        told = {"restored": not dry_run, "made": f"{made:%Y-%m-%dT%H:%M:%SZ}"}
        typer.echo(json.dumps({**told, "streams": listed, "not_compared": list(unseen)}))
        return
    for name, step in streams.items():
        say(f"{name}: step {step}" if step else f"{name}: no step yet")
    for what in unseen:
        say(f"Not compared with what was published: {what}.", err=True)
    done = "can be restored to" if dry_run else "is restored to"
    say(
        f"The backup of {moment(made.replace(microsecond=0))} UTC {done} "
        f"'{public_address(plans[0].store.url)}'.",
        err=True,
    )


def _work(plan: Plan, url: str) -> Path:
    """Where the backup is unpacked: beside the store, or beside the plan if that is a server."""
    place = Path(url) if "://" not in url else plan.base / f"{plan.stream.name}.backup"
    return place.with_name(place.name + _WORK)
