"""``ameles serve``: follows streams and shows them over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ameles.cli.extras import version
from ameles.cli.launch_refusals import at_terminal, confirm_launch, refuse_launch
from ameles.cli.overwritten_memory import overwrite_memory
from ameles.cli.plans import store_path
from ameles.cli.stop_signals import stopping
from ameles.core.exceptions import BadInput, MissingExtra
from ameles.engine.running.launch_checks import check_launch
from ameles.plan.plan import Plan, read_plan
from ameles.plan.source import check_source
from ameles.store import Store, Unavailable

if TYPE_CHECKING:
    from ameles.service.served_store import ServedStore

LISTEN = "127.0.0.1:8421"


class LogForm(Enum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


def serve(
    plans: Annotated[
        list[Path], typer.Argument(help="The plans, TOML files.", metavar="PLAN...", readable=False)
    ],
    listen: Annotated[
        str, typer.Option(help="The address and port; by default this machine alone.")
    ] = LISTEN,
    log: Annotated[
        LogForm, typer.Option(help="The log on standard error, for people or for programs.")
    ] = LogForm.TEXT,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="A proxy, or its network, that tells for whom it asks (X-Forwarded-For); "
            "may be given several times.",
            metavar="ADDRESS",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Launch without asking; off a terminal, a stream waits for its launch without it.",
        ),
    ] = False,
) -> None:
    """Follow streams and show them over HTTP.

    Each plan is followed as by ameles run --follow.  What is published can be read by holders of
    a token (ameles token), or by anybody if the plan says so.  Ctrl-C or SIGTERM ends it as soon
    as the current work is stored; a second one ends it at once.
    """
    need_serve()
    from ameles.service.proxies import TrustedProxies
    from ameles.service.server import listening, url_of

    proxies = TrustedProxies(trusted_proxy or ())
    checked = [read_plan(file) for file in plans]
    _check_names(checked)
    if any(_folds_posted_events(plan) for plan in checked):
        overwrite_memory()
    with ExitStack() as stack:
        opened = stack.enter_context(closing(listening(listen)))
        stores, launches = _opened(plans, checked, stack, yes=yes)
        from ameles.service.log import Log
        from ameles.service.service import Service

        said = Log(sys.stderr, as_json=log is LogForm.JSON)
        service = Service(
            list(zip(checked, stores, strict=True)), said, proxies=proxies, launches=launches
        )
        with stopping() as stop:
            said.say("serving", address=url_of(opened))
            failed = service.run(opened, stop)
    if failed:
        raise typer.Exit(1)


def need_serve() -> None:
    """Refuses if the packages of the service are not installed."""
    missing = [name for name in ("fastapi", "orjson", "uvicorn") if version(name) is None]
    if missing:
        raise MissingExtra(
            f"The service needs {' and '.join(missing)}, which is not installed.",
            tip="pip install '.[serve]' in the clone of Ameles",
        )


def _folds_posted_events(plan: Plan) -> bool:
    return plan.stream.source_kind.needs_service and plan.privacy.intrusions != "none"


def _check_names(plans: Sequence[Plan]) -> None:
    names = [plan.stream.name for plan in plans]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise BadInput(
            f"Two of the plans have the stream name '{doubles[0]}'.",
            why="addresses have the names of streams",
            tip="each plan once; another name needs another stream",
        )


def _opened(
    files: Sequence[Path], plans: Sequence[Plan], stack: ExitStack, *, yes: bool
) -> tuple[list[Store], frozenset[str]]:
    """The store of each plan, and the names of the streams that may be launched.

    Plans with one address share one store.  Everything that a launch would refuse is refused before
    the first stream begins.  Without a yes nothing is launched and no store is made: such a stream
    waits.  A store that cannot be used now is waited for, unless all are refused for reasons that
    do not pass.
    """
    from ameles.service.served_store import ServedStore

    agreed = yes or at_terminal()
    stores, notes = dict[str, ServedStore](), list[str]()
    for plan in plans:
        _ = plan.recipes  # recipes refuse their parameters here, before a store is made
        place = _place(plan)
        if place not in stores:
            made = ServedStore(store_path(plan), create=yes)
            stores[place] = stack.enter_context(closing(made))
            made.open_existing()
        note = ""
        if stores[place].away:
            check_launch(plan)
        elif not refuse_launch(plan) and agreed:
            note = check_source(plan, waiting=True)
        notes.append(note)
    _check_hope(list(stores.values()))
    launches = set[str]()
    for file, plan, note in zip(files, plans, notes, strict=True):
        store = stores[_place(plan)]
        known = store if store.opened else None
        if store.away:
            launches |= {plan.stream.name} if yes else set()
        elif agreed and confirm_launch(plan, known, file=file, yes=yes, note=note):
            launches.add(plan.stream.name)
            store.open(create=True)
    for store in stores.values():
        if not (store.away or store.opened):
            store.open()  # it waits for somebody who makes it
    _check_hope(list(stores.values()))
    return [stores[_place(plan)] for plan in plans], frozenset(launches)


def _place(plan: Plan) -> str:
    """The address of a plan's store, the same for all plans that share it."""
    path = store_path(plan)
    return path if "://" in path else os.path.realpath(path)


def _check_hope(stores: Sequence[ServedStore]) -> None:
    """Refuses stores none of which can be used before somebody has changed something."""
    problems = [None if store.missing else store.problem for store in stores]
    if not any(problem is None or isinstance(problem, Unavailable) for problem in problems):
        raise problems[0] or AssertionError("there is a plan")
