"""A client that calls an application in this process, without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

LIMIT = 600.0  # seconds until a test gives up


@dataclass(frozen=True)
class Answer:
    """A status, headers in lower case, and the pieces of a body."""

    status: int
    headers: Mapping[str, str]
    pieces: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One event loop for all requests, as a server has it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def get(self, path: str, token: str | None = None, **options: Any) -> Answer:
        return self._runner.run(self.ask(path, token, **options))

    def run(self, what: Any) -> Any:
        return self._runner.run(what)

    async def ask(
        self,
        path: str,
        token: str | None = None,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        enough: Callable[[list[bytes]], bool] = lambda pieces: False,
    ) -> Answer:
        """The answer to a request; the client leaves when it has enough of the body."""
        where, _, query = path.partition("?")
        given = list(headers.items() if isinstance(headers, Mapping) else headers)
        given += [("Authorization", f"Bearer {token}")] if token else []
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(where),
            "raw_path": where.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in given],
            "client": ("192.0.2.1", 50_000),
            "server": ("127.0.0.1", 8421),
        }
        left, sent = asyncio.Event(), [False]
        began: list[Message] = []
        pieces: list[bytes] = []

        async def receive() -> Message:
            if not sent[0]:
                sent[0] = True
                return {"type": "http.request", "body": body, "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                began.append(message)
            elif message.get("body"):
                pieces.append(message["body"])
                if enough(pieces):
                    left.set()

        async with asyncio.timeout(LIMIT):
            await self.app(scope, receive, send)
        (start,) = began
        told = {k.decode().lower(): v.decode("latin-1") for k, v in start["headers"]}
        return Answer(start["status"], told, pieces)
