"""``/v1/streams/{name}/live``: releases as they are published, as server-sent events.

The id of an event is the cursor after its rows, as pages have it.  A reader who comes back with
``Last-Event-ID`` goes on there, misses nothing and gets nothing twice.  Nothing is queued for a
reader: each reads from his own place on, and one who does not take what is sent is disconnected.

    event: state      how the stream is doing, at the beginning and when that changes
    event: releases   a page of releases, as /releases has it
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ameles.service.dependencies import (
    BEARER,
    READ,
    REFUSALS,
    Readable,
    Source,
    authorization,
    gate,
)
from ameles.service.readout.cursors import cursor_of, place_of
from ameles.service.readout.feed import Feed
from ameles.service.readout.formats import WRITTEN, Format
from ameles.service.readout.models import StreamSummary
from ameles.service.readout.releases import Key, Name, check_names
from ameles.service.readout.shared_reads import SharedReads
from ameles.service.readout.streams import summary
from ameles.service.refusals import Problem, Refused
from ameles.service.views import Place, Published, StreamView, Wanted

HEARTBEAT = 15.0  # seconds after which something is sent
RECHECK = 1.0  # seconds after which the right to read is checked again before anything is sent
SLOW = 30.0  # seconds that a reader may take to accept what is sent
MOST_READERS = 5_000
AT_ONCE = 1_000  # rows of an event
HELLO = b"retry: 3000\n\n"

router = APIRouter(tags=["releases"], dependencies=[Depends(BEARER)])


@router.get(
    "/v1/streams/{name}/live",
    responses={
        **REFUSALS,
        200: {"content": {"text/event-stream": {}}},
        409: {"model": Problem, "description": "The cursor is of another stream."},
    },
)
async def live(
    request: Request,
    stream: Readable,
    source: Source,
    release: Name = None,
    key: Key = None,
    cursor: Annotated[
        str | None, Query(max_length=40, description="Begin here, as a page has it in 'next'.")
    ] = None,
    form: Annotated[Format, Query(alias="format", description="json or series.")] = Format.JSON,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> Response:
    """Releases as they are published; without a cursor, from the next one on."""
    if form not in (Format.JSON, Format.SERIES):
        raise Refused(
            422,
            "The parameter 'format' cannot be used as given.",
            why="live releases are sent as JSON",
            tip="json or series",
        )
    await run_in_threadpool(check_names, source, stream, release, key)
    if last_event_id:
        start = place_of(last_event_id, stream.identity, "header 'Last-Event-ID'")
    else:
        start = place_of(cursor, stream.identity) if cursor else Place(stream.released + 1)
    readers: LiveReaders = request.app.state.live
    if readers.count >= MOST_READERS:
        raise Refused(503, "There are too many live readers.", headers={"Retry-After": "10"})
    wanted = Wanted(release=release, key=key)
    events = readers.events(source, stream, wanted, start, form, _still_allowed(request, stream))
    return LiveResponse(events, readers)


def _still_allowed(request: Request, stream: StreamView) -> Callable[[], bool] | None:
    """Asks whether a request that was allowed still is: its token may have been revoked.

    None if it has no token: a stream that is public stays so while the service runs.
    """
    given = authorization(request)
    return None if given is None else partial(gate(request).still_allows, given, stream.name, READ)


class LiveReaders:
    """What the live readers of a service share: the feed and the last reads."""

    def __init__(
        self,
        feed: Feed,
        heartbeat: float = HEARTBEAT,
        slow: float = SLOW,
        recheck: float = RECHECK,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.feed = feed
        self.slow = slow
        self.count = 0
        self._heartbeat = heartbeat
        self._recheck = recheck
        self._clock = clock
        self._news: SharedReads[_News] = SharedReads()
        self._states: SharedReads[tuple[StreamView, bytes]] = SharedReads()

    async def events(
        self,
        source: Published,
        stream: StreamView,
        wanted: Wanted,
        place: Place,
        form: Format,
        allowed: Callable[[], bool] | None,
    ) -> AsyncIterator[bytes]:
        """The events of one reader, from his place on, while he is allowed to read."""
        name, shown, checked = stream.name, b"", self._clock()
        yield HELLO
        while not self.feed.closed:
            if allowed is not None and self._clock() >= checked + self._recheck:
                if not await run_in_threadpool(allowed):
                    return
                checked = self._clock()
            news = self.feed.news(name)
            view, state = await self._states.read(
                (name, news), partial(_state, source, name), keep=lambda read: True
            )
            if state != shown:
                yield event("state", state, cursor_of(place, view.identity))
                shown = state
            new = await self._news.read(
                (name, wanted, place, form),
                partial(_news, source, view, wanted, place, form),
                keep=lambda read: bool(read.event),
            )
            if new.event:
                place = new.after
                yield new.event
            elif not await self.feed.wait(name, news, self._heartbeat):
                yield b": \n\n"


@dataclass(frozen=True, slots=True)
class _News:
    """An event with what was released after a place, as all readers get it; empty if nothing."""

    event: bytes
    after: Place


def _state(source: Published, name: str) -> tuple[StreamView, bytes]:
    view = source.stream(name)
    return view, StreamSummary(**summary(view)).model_dump_json().encode()


def _news(source: Published, view: StreamView, wanted: Wanted, place: Place, form: Format) -> _News:
    page = source.page(view.name, wanted, place, AT_ONCE)
    if not page.rows:
        return _News(b"", place)
    following = cursor_of(page.after, view.identity)
    about = {"stream": view.name, "next": following, "more": page.more}
    written = WRITTEN[form].write(page.rows, about)
    return _News(event("releases", written, following), page.after)


def event(kind: str, data: bytes, number: str) -> bytes:
    """One server-sent event; JSON has no newline.

    >>> event("state", b"{}", "0f3c9a12.1.0")
    b'event: state\\nid: 0f3c9a12.1.0\\ndata: {}\\n\\n'
    """
    return b"event: %s\nid: %s\ndata: %s\n\n" % (kind.encode(), number.encode(), data)


class LiveResponse(Response):
    """Sends events until the reader goes, is too slow, or the service ends."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], readers: LiveReaders) -> None:
        super().__init__(
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
            media_type=self.media_type,
        )
        del self.headers["content-length"]
        self._events = events
        self._readers = readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        readers = self._readers
        readers.count += 1
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            readers.count -= 1
            sending.cancel()
            leaving.cancel()
            ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
        if isinstance(ended, Exception) and not isinstance(ended, TimeoutError | OSError):
            raise ended

    async def _send(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async for chunk in self._events:
            async with asyncio.timeout(self._readers.slow):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
