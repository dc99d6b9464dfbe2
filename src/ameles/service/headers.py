"""The outermost layer of the service: headers that every answer has, and no exception passes.

A bearer token in a URL would be in logs, histories and referrers, so such a request is refused
before anything looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ameles.core.token import TOKEN
from ameles.service.proxies import TrustedProxies
from ameles.service.refusals import failure, problem, refusal_of

NOTHING_LOADS = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
HEADERS = {  # unless an answer has its own
    "Cache-Control": "no-store",
    "Content-Security-Policy": NOTHING_LOADS,  # the page of the service sets its own
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LONGEST_QUERY = 4096
PAIRS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Outermost:
    """Sets headers, answers HEAD, and turns an unexpected exception into an empty 500.

    ``failed`` is told the exception; its text may quote something private and is not logged.
    """

    def __init__(
        self, app: ASGIApp, failed: Callable[[Exception], None], proxies: TrustedProxies
    ) -> None:
        self._app = app
        self._failed = failed
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        scope = self._proxies.seen(scope)
        answer = _Answer(send, bodiless=scope["method"] == "HEAD")
        scope = {**scope, "method": "GET"} if answer.bodiless else scope
        with suppress(_Answered):
            await self._answer(scope, receive, answer)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        refusal = _wrong_query(scope["query_string"])
        try:
            await (refusal or self._app)(scope, receive, answer.send)
        except _Answered:
            raise
        except Exception as surprise:
            self._failed(surprise)
            if not answer.begun:
                await refusal_of(failure())(scope, receive, answer.send)


class _Answered(Exception):
    """Everything that was asked for has been sent."""


class _Answer:
    """Passes an answer on, with its headers; without a body if nobody asked for one."""

    def __init__(self, send: Send, *, bodiless: bool) -> None:
        self._send = send
        self.bodiless = bodiless
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            own = {name.lower() for name, _ in message["headers"]}
            added = [pair for pair in PAIRS if pair[0] not in own]
            message = {**message, "headers": [*message["headers"], *added]}
        elif self.bodiless:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise _Answered  # also ends an answer that would go on for ever
        await self._send(message)


def same_tag(given: str, tag: str) -> bool:
    """Whether an ``If-None-Match`` header has a tag, or any.

    >>> same_tag('W/"a", "b"', '"a"'), same_tag("*", '"a"'), same_tag('"ab"', '"a"')
    (True, True, False)
    """
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in given.split(","))


def _wrong_query(query: bytes) -> ASGIApp | None:
    if not query:
        return None
    if TOKEN.search(unquote(query.decode("latin-1")).lower()):
        return problem(
            400,
            "A token must not be in a URL.",
            why="URLs are kept in logs and histories",
            tip="revoke it with 'ameles token revoke'; send tokens as 'Authorization: Bearer ...'",
        )
    if len(query) > LONGEST_QUERY:
        return problem(414, f"A query may have {LONGEST_QUERY} bytes.", tip="fewer parameters")
    return None
