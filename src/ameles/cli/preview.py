"""``ameles preview``: a plan before its launch, on a page with sliders."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import DEFAULT, PlanFile, require_store, store_path
from ameles.cli.serve import LISTEN, need_serve
from ameles.cli.stop_signals import stopping
from ameles.core.exceptions import BadInput
from ameles.plan.plan import Plan, read_plan
from ameles.plan.text import read_text
from ameles.store import Store, open_store


def preview(
    file: PlanFile = DEFAULT,
    around: Annotated[
        Path | None,
        typer.Option(
            help="The plan of a published stream: draw noise around what it has released.",
            metavar="PLAN",
            readable=False,
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option(help="The address and port; by default this machine alone.")
    ] = LISTEN,
) -> None:
    """Try a plan before its launch, on a page with sliders.

    The page shows what the plan might publish, with the real noise on a made-up season, and the
    text of the plan for each position of the sliders.  It reads no data, spends nothing and stores
    nothing.  Ctrl-C or SIGTERM ends it.
    """
    need_serve()
    from ameles.service.log import Log
    from ameles.service.preview_service import PreviewService
    from ameles.service.server import listening, url_of
    from ameles.simulate.preview.preview import Preview
    from ameles.simulate.preview.released import released_season

    plan, other = read_plan(file), None if around is None else read_plan(around)
    _ = plan.recipes  # recipes refuse their parameters here
    with ExitStack() as stack:
        opened = stack.enter_context(closing(listening(listen)))
        published: list[tuple[Plan, Store]] = []
        if other is not None:
            require_store(other)
            store = open_store(store_path(other), create=False, reading=True)
            published = [(other, stack.enter_context(closing(store)))]
        seasons = {
            one.stream.name: released_season(held, one.stream.name) for one, held in published
        }
        if any(not season for season in seasons.values()):
            raise BadInput(
                f"Stream '{next(iter(seasons))}' has published nothing yet.",
                tip="without --around, which makes a season up",
            )
        made = Preview(plan, read_text(file), seasons)
        said = Log(sys.stderr)
        with stopping() as stop:
            said.say("serving", address=f"{url_of(opened)}/preview")
            PreviewService(made, published, said).run(opened, stop)
