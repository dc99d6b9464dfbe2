"""The application: all routes of the service over what its parts give them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any

from fastapi import Depends, FastAPI
from starlette.types import Receive, Scope, Send

from ameles.service.dashboard import routes as page
from ameles.service.declared_parameters import only_declared
from ameles.service.dependencies import REFUSALS
from ameles.service.headers import Outermost
from ameles.service.ingest import routes
from ameles.service.ingest.direct_posts import DirectPosts
from ameles.service.ingest.posts import Doors
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.metrics import listings, process, query, scrape
from ameles.service.metrics.answer_counts import AnswerCounts, CountedAnswers
from ameles.service.metrics.refusals import QueryRefused
from ameles.service.metrics.refusals import refused as query_refused
from ameles.service.proxies import TrustedProxies
from ameles.service.readout import (
    attacker,
    health,
    ledger,
    live,
    operation,
    preview,
    releases,
    streams,
)
from ameles.service.readout.feed import Feed
from ameles.service.readout.live import LiveReaders
from ameles.service.readout.written_pages import WrittenPages
from ameles.service.refusals import add_handlers
from ameles.service.views import Gate, Health, Operations, Previews, Published, Sampled

TITLE = "Ameles"
NO_PROXIES = TrustedProxies()
STRICT = (streams, releases, live, ledger, attacker, preview, operation, scrape, process)
LENIENT = (health, page, query, listings)  # about parameters that they do not know
ABOUT = "Live statistics about people, under differential privacy."
# Newer versions of FastAPI report requests to whatever the environment names; older ones ignore it.
NO_TELEMETRY: dict[str, Any] = {
    "telemetry": dict.fromkeys(
        ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
    )
}


class Application(FastAPI):
    """Routes, and before them the short way of posted batches."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        posts: DirectPosts = self.state.posts
        await posts(scope, receive, send)


def build_app(
    published: Published,
    gate: Gate,
    state: Health,
    feed: Feed,
    doors: Doors,
    run: Operations,
    sampled: Sampled,
    failed: Callable[[Exception], None] = lambda problem: None,
    previews: Previews | None = None,
    proxies: TrustedProxies = NO_PROXIES,
    refused: Callable[[str, str, int], None] = lambda method, route, status: None,
) -> FastAPI:
    """The application over one service.

    ``failed`` is told what a request could not expect, ``refused`` which routes refused one.
    """
    app = Application(
        title=TITLE,
        description=ABOUT,
        version=metadata.version("ameles"),
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        **NO_TELEMETRY,
    )
    app.state.published = published
    app.state.gate = gate
    app.state.health = state
    app.state.doors = doors
    app.state.bodies = bodies = UnfinishedBodies()
    app.state.operations = run
    app.state.samples = sampled
    app.state.answers = answers = AnswerCounts()
    app.state.previews = previews
    app.state.live = LiveReaders(feed)
    app.state.parameters = {}
    app.state.pages = WrittenPages()
    for part in STRICT:
        app.include_router(
            part.router, dependencies=[Depends(only_declared)], responses={422: REFUSALS[422]}
        )
    for part in (routes, *LENIENT):  # the former refuses them itself
        app.include_router(part.router)
    parts = (routes, *STRICT, *LENIENT)
    app.state.routes = [route for part in parts for route in part.router.routes]
    add_handlers(app, failed)
    routed = partial(FastAPI.__call__, app)
    app.state.posts = DirectPosts(routed, gate, doors, bodies, failed, proxies, refused)
    app.add_exception_handler(QueryRefused, query_refused)
    app.add_middleware(CountedAnswers, counts=answers, refused=refused)
    app.add_middleware(Outermost, failed=failed, proxies=proxies)
    return app
