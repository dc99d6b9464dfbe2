"""The short way of a posted batch: past the routes, which would take longer than the batch itself.

Only requests of the plainest kind go this way.  All others go to the route, which does the same for
them or says what is wrong with their headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from starlette.types import ASGIApp, Receive, Scope, Send

from ameles.core.exceptions import AmelesError
from ameles.service.headers import PAIRS
from ameles.service.ingest.answers import HEADERS, NOT_COUNTED, Answer, refusal_answer
from ameles.service.ingest.posts import Doors, Post, take_batch, with_open_step
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.proxies import TrustedProxies
from ameles.service.refusals import TOKEN_REFUSED, Refused, failure, store_refused
from ameles.service.views import Gate

LONGEST_ID = 128
LAST_STEP = 1 << 53
ROUTE = "/v1/streams/{name}/events"
_PATH = re.compile(r"/v1/streams/([^/]{1,64})/events")
_STEP = re.compile(rb"[1-9][0-9]{0,15}")
_READ = frozenset(
    {
        b"ameles-batch",
        b"ameles-step",
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
    }
)


Pairs: TypeAlias = list[tuple[bytes, bytes]]


class DirectPosts:
    """Takes batches at once; passes everything else on.

    ``failed`` is told what the store refuses and what nobody expected, ``refused`` that a token was
    refused.
    """

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        doors: Doors,
        bodies: UnfinishedBodies,
        failed: Callable[[Exception], None],
        proxies: TrustedProxies,
        refused: Callable[[str, str, int], None],
    ) -> None:
        self._app = app
        self._gate = gate
        self._doors = doors
        self._bodies = bodies
        self._failed = failed
        self._proxies = proxies
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        post = plain_post(scope, receive, self._proxies)
        if post is None:
            await self._app(scope, receive, send)
            return
        answer = await self._answer(post)
        if answer.status in TOKEN_REFUSED:
            self._refused("POST", ROUTE, answer.status)
        headers = [*_written(answer.headers), (b"content-length", b"%d" % len(answer.content))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.content})

    async def _answer(self, post: Post) -> Answer:
        try:
            return await take_batch(post, self._gate, self._doors, self._bodies)
        except Refused as problem:
            refusal = with_open_step(problem, post.stream, self._doors, posted=True)
        except Exception as surprise:
            self._failed(surprise)
            refusal = failure()
            if isinstance(surprise, AmelesError):
                refusal = store_refused()
                refusal.more = dict(NOT_COUNTED)
        return refusal_answer(refusal)


def _written(headers: dict[str, str]) -> Pairs:
    """The headers of an answer, with those that every answer has."""
    if headers is HEADERS:
        return _USUAL
    own = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    names = {name for name, _ in own}
    return [*own, *(pair for pair in PAIRS if pair[0] not in names)]


_USUAL = _written(dict(HEADERS))


def plain_post(scope: Scope, receive: Receive, proxies: TrustedProxies) -> Post | None:
    """The batch of a request without anything unusual; None for every other request."""
    if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"]:
        return None
    path = _PATH.fullmatch(scope["path"])
    if path is None:
        return None
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _READ:
            if name in found:
                return None
            found[name] = value
    batch, step = found.get(b"ameles-batch", b""), found.get(b"ameles-step", b"")
    if not 1 <= len(batch) <= LONGEST_ID or _STEP.fullmatch(step) is None:
        return None
    number, token = int(step), found.get(b"authorization")
    if number > LAST_STEP:
        return None
    client = proxies.seen(scope)["client"]
    return Post(
        stream=path[1],
        batch=batch.decode("latin-1"),
        step=number,
        authorization=None if token is None else token.decode("latin-1"),
        address=client[0] if client else "",
        content_type=found.get(b"content-type", b"").decode("latin-1"),
        encoding=found.get(b"content-encoding", b"").decode("latin-1"),
        length=found.get(b"content-length", b"").decode("latin-1"),
        receive=receive,
    )
