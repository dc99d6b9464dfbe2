"""The short way of a posted batch: past the routes, which would take longer than the batch itself.

Only requests of the plainest kind go this way.  All others go to the route, which does the same for
them or says what is wrong with their headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from ameles.core.exceptions import AmelesError
from ameles.service.ingest.answers import refusal_answer
from ameles.service.ingest.posts import Doors, Post, take_batch, with_open_step
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.refusals import Refused, store_refusal
from ameles.service.views import Gate

LONGEST_ID = 128
LAST_STEP = 1 << 53
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


class DirectPosts:
    """Takes batches at once; passes everything else on.

    ``failed`` is told what the store refuses.
    """

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        doors: Doors,
        bodies: UnfinishedBodies,
        failed: Callable[[Exception], None],
    ) -> None:
        self._app = app
        self._gate = gate
        self._doors = doors
        self._bodies = bodies
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        post = plain_post(scope, receive)
        if post is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await take_batch(post, self._gate, self._doors, self._bodies)
        except Refused as refusal:
            answer = refusal_answer(with_open_step(refusal, post.stream, self._doors))
        except AmelesError as refusal:
            self._failed(refusal)
            await store_refusal()(scope, receive, send)
            return
        headers = [(name.lower().encode(), text.encode()) for name, text in answer.headers.items()]
        headers.append((b"content-length", b"%d" % len(answer.content)))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.content})


def plain_post(scope: Scope, receive: Receive) -> Post | None:
    """The batch of a request without anything unusual; None for every other request."""
    if scope["type"] != "http" or scope["method"] != "POST":
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
    client = scope["client"]
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
