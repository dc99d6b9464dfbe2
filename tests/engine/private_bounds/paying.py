"""What the tests of paid bounds share: a world with a cap, its store, and a question that ends."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from ameles.engine.private_bounds.account import plan_account
from ameles.query.answer import Answer
from ameles.store import Store, open_store
from tests.engine.worlds import COUNT, World, row

from .choices import SUM, USERS, question, world_of

CAPPED = USERS + "\ncap = 2"


def world_with(folder: Path, unit: str = CAPPED) -> World:
    return world_of(folder, COUNT + SUM, unit).write([row(1, "ada"), row(2, "bob")])


def url(world: World) -> str:
    return str(world.folder / "s.db")


def store_of(world: World) -> closing[Store]:
    return closing(open_store(url(world)))


def ask(world: World, version: str | None = None, **more: Any) -> Answer:
    asked = question(world, **more)
    with plan_account(world.plan, url(world), asked.recipe) as account:
        return asked.ask(account, version)


def left(world: World) -> Any:
    with store_of(world) as store, store.reading() as transaction:
        ledger = transaction.ledger("people")
        assert ledger is not None
        return ledger.left


class Died(BaseException):
    """Ends a question as a kill would, as far as the store can see."""
