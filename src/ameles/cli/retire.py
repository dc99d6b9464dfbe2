"""``ameles retire``: erases the state of a stream for ever; what it published stays."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, launched, moment, say, stored, with_plan
from ameles.core.exceptions import AmelesError, BadInput
from ameles.engine.operating.retire import RetiredStream, retire_stream
from ameles.plan.plan import read_plan


class NotRetired(AmelesError):
    """The person at the terminal said no; nothing was changed."""

    code = "retire"


def retire(
    name: Annotated[str, typer.Argument(help="The name of the stream.", metavar="STREAM")],
    file: PlanFile = DEFAULT,
    why: Annotated[
        str | None, typer.Option(help="Why it ends; kept forever.", metavar="TEXT")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase the state of a stream, which then never runs again.

    Its secret state, the key of a pan-private state, and the users and positions that it knows are
    erased as far as the place can, and it says how far.  Tokens for the stream are revoked.  Its
    releases and what it spent stay.  The stream must not be running.  If it is interrupted, do it
    again.
    """
    checked = read_plan(file)
    if name != checked.stream.name:
        raise BadInput(
            f"The plan '{file}' is about stream '{checked.stream.name}', not '{name[:64]}'.",
            why="retiring cannot be undone, so the name and the plan must agree",
            tip=f"ameles retire {checked.stream.name} {file}, or the plan of the other stream",
        )
    if not why:
        raise BadInput(
            "A retirement needs --why.",
            why="it is kept forever, for the people whom the data is about",
            tip="--why 'the season is over'",
        )
    with stored(checked, reading=False) as store:
        with store.reading() as transaction:
            launched(transaction, checked)
        _confirm(with_plan(f"ameles retire {name}", file), name, yes=yes)
        done = retire_stream(checked, store, why)
    if as_json:
        told = {"stream": done.stream, "on": f"{done.at:%Y-%m-%dT%H:%M:%SZ}", "why": done.why}
        erased = {"store": done.store, "key": done.key}
        if done.files is not None:
            erased["files"] = done.files
        typer.echo(json.dumps({**told, "tokens_revoked": done.tokens, "erased": erased}))
        return
    _tell(done)


def _confirm(command: str, name: str, *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            "A retirement needs --yes if there is no terminal to ask at.",
            why="it cannot be undone: the state is erased",
            tip=f"{command} --why '...' --yes",
        )
    say(
        f"This erases the state of stream '{name}' forever: it never runs again, and what it spent "
        "stays spent. Retire it? [y/N] ",
        nl=False,
        err=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotRetired(f"Stream '{name}' was not retired.", tip="--yes retires without asking")


def _tell(done: RetiredStream) -> None:
    say(f"store       {done.store}")
    if done.key is not None:
        say(f"key         {done.key}")
    if done.files is not None:
        say(f"files       {done.files}")
    say(f"tokens      {done.tokens or 'none'} revoked")
    if done.key is None:
        say("backups     those made before have its state: delete them")
    again = "was retired before, on" if done.before else "is retired since"
    when = moment(done.at.replace(microsecond=0))
    say(f"Stream '{done.stream}' {again} {when} UTC: {done.why}", err=True)
