"""``ameles token``: makes, lists and revokes the tokens of a service."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, AsJson, PlanFile, moment, say, store_path, stored, table
from ameles.core.exceptions import BadInput
from ameles.core.token import new_token, token_digest
from ameles.measures.fields import NAME
from ameles.plan.plan import Plan, read_plan
from ameles.store import open_store
from ameles.store.tokens import Scope, TokenRecord

DAYS = 90
MOST_DAYS = 3650
MAY: dict[Scope, str] = {
    "ingest": "send events to",
    "read": "read",
    "admin": "see how the service runs",
}


class TokenAction(Enum):
    """What is to be done about tokens."""

    CREATE = "create"
    LIST = "list"
    REVOKE = "revoke"


class TokenScope(Enum):
    """What a token allows; each scope allows nothing of the others."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


def token(
    action: Annotated[TokenAction, typer.Argument(help="create one, list all, or revoke one.")],
    file: PlanFile = DEFAULT,
    name: Annotated[
        str | None, typer.Option(help="Who will use it; a token keeps its name.", metavar="NAME")
    ] = None,
    scope: Annotated[
        TokenScope | None,
        typer.Option(help="To send events, to read releases, or to see how the service runs."),
    ] = None,
    days: Annotated[
        int, typer.Option(help="How long it is valid.", min=1, max=MOST_DAYS, metavar="DAYS")
    ] = DAYS,
    as_json: AsJson = False,
) -> None:
    """Make, list or revoke tokens: who may send, read or administer a plan's stream over HTTP.

    A token is shown once, when it is made; the store keeps only a digest of it.  It is for the
    stream of the plan, has one scope, and expires.
    """
    checked = read_plan(file)
    if action is TokenAction.CREATE:
        _create(checked, _named(name), _given(scope), days, as_json)
    elif action is TokenAction.REVOKE:
        _revoke(checked, _named(name), as_json)
    else:
        _list(checked, as_json)


def _named(name: str | None) -> str:
    if name is None or not NAME.fullmatch(name):
        raise BadInput(
            "A token needs --name, of up to 64 letters, digits, dots, dashes and underscores.",
            tip="--name dashboard",
        )
    return name


def _given(scope: TokenScope | None) -> Scope:
    if scope is None:
        raise BadInput(
            "A token needs --scope.",
            why="a token allows one thing, so that a lost one does little harm",
            tip="--scope read, --scope ingest or --scope admin",
        )
    return scope.value


def _create(plan: Plan, name: str, scope: Scope, days: int, as_json: bool) -> None:
    text, created = new_token(), datetime.now(UTC).replace(microsecond=0)
    expires = created + timedelta(days=days)
    with closing(open_store(store_path(plan))) as store, store.writing() as transaction:
        if any(one.name == name for one in transaction.tokens()):
            raise BadInput(
                f"A token named '{name}' exists already.",
                why="the name says which token is revoked",
                tip="another --name",
            )
        number = transaction.add_token(
            digest=token_digest(text),
            name=name,
            stream=plan.stream.name,
            scope=scope,
            created=created,
            expires=expires,
        )
    if as_json:
        made = {"number": number, "name": name, "stream": plan.stream.name, "scope": scope}
        typer.echo(json.dumps({"token": text, **made, "expires": _written(expires)}))
        return
    say(text)
    say(
        f"This token is shown only now. Until {moment(expires)} UTC its holder may {MAY[scope]} "
        f"stream '{plan.stream.name}'.",
        err=True,
    )


def _revoke(plan: Plan, name: str, as_json: bool) -> None:
    now = datetime.now(UTC)
    with stored(plan, reading=False) as store, store.writing() as transaction:
        found = [one for one in transaction.tokens() if one.name == name]
        if not found:
            raise BadInput(
                f"There is no token named '{name}'.", tip="ameles token list shows all names"
            )
        transaction.revoke_token(found[0].number, now)
    if as_json:
        typer.echo(json.dumps({"name": name, "revoked": True}))
        return
    say(f"Token '{name}' is revoked; a running service refuses it within a second.", err=True)


def _list(plan: Plan, as_json: bool) -> None:
    with stored(plan) as store, store.reading() as transaction:
        tokens = transaction.tokens()
    now = datetime.now(UTC)
    if as_json:
        typer.echo(json.dumps([_plain(one, now) for one in tokens], indent=2))
        return
    rows = [
        (str(one.number), one.name, one.stream, one.scope, moment(one.expires), _state(one, now))
        for one in tokens
    ]
    table(("token", "name", "stream", "scope", "expires (UTC)", "state"), rows, left=6)
    if not tokens:
        say("There are no tokens yet.", err=True)


def _plain(one: TokenRecord, now: datetime) -> dict[str, object]:
    return {
        "number": one.number,
        "name": one.name,
        "stream": one.stream,
        "scope": one.scope,
        "created": _written(one.created),
        "expires": _written(one.expires),
        "revoked": None if one.revoked is None else _written(one.revoked),
        "state": _state(one, now),
    }


def _state(one: TokenRecord, now: datetime) -> str:
    if one.revoked is not None:
        return "revoked"
    return "valid" if one.valid(now) else "expired"


def _written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
