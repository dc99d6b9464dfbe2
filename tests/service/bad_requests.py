"""Requests that nobody should send, made from the OpenAPI document; and what must hold after each.

No server error, no change of the store, no event value, secret or echo in an answer, and every
answer as the document describes it.
"""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.faults.choices import Choices
from tests.service.asgi import Answer
from tests.service.openapi_answers import Document
from tests.service.small_service import CANARY, NOW, Small

ECHO = "zqxj"  # in every made-up text: no answer repeats what was sent
METHODS = ("GET",) * 6 + ("HEAD", "PUT", "DELETE", "OPTIONS", "POST")
POSTED = "/v1/streams/{name}/events"
BODIES = (
    *(
        b"",
        b"[]",
        b"{}",
        b"[{}",
        b'[{"at":"2026-01-01","age":1e999}]',
        b"[1]",
        b"[" * 9000,
        b"\x00",
    ),
    *(b"at,who\n1,2\n", b'{"at":1}\n{"at":', b"\x1f\x8b\x08", b"\xff\xfe", b"[{}]" * 2, b'"a"'),
    *(b"[" + b"{}," * 1000 + b"{}]", b"a" * (1 << 20), b"[" + b" " * (1 << 20) + b"]"),
    gzip.compress(b"[" + b" " * (8 << 20) + b"]", mtime=0),
)
STREAMS = ("open", "closed", "apart", "absent")
TEXTS = (
    *("", " ", "\x00", "%00", "..", "../../etc/passwd", "'", '"; DROP TABLE token; --', "{{7*7}}"),
    *("\U0001f600", "\u202e", "a" * 70, "a" * 2000, "NaN", "null", "[]", "-1", "1e999", "0x10"),
)
NUMBERS = (
    *("0", "1", "-1", "5", "6", "9", "2147483648", "9223372036854775808", "1e3", "1.5", "NaN"),
    *("inf", "", " 1", "\uff11", "1_0", "0b1", "99999999999999999999999999"),
)
TIMES = (
    *("2026-01-03", "2026-01-03T00:00:00Z", "2026-01-03T00:00:00+14:00", "0001-01-01T00:00:00"),
    *("9999-12-31T23:59:59.999999-12:00", "2026-02-30", "now", "1e30", "-1", "1700000000"),
    *("0001-01-01T00:00:00+23:59", "2026-01-03T00:00:00+99:99", "9999-12-31T23:59:59+00:00"),
)
KNOWN = {"release": ("visits", "ages"), "key": ("north", "=south", ""), "cursor": ("{}.2.1",)}
HEADERS = ("Accept", "If-None-Match", "Last-Event-ID", "Range", "Origin", "X-Forwarded-For", "Host")


@dataclass(frozen=True)
class BadRequest:
    """One request, and which stream it has a right to read."""

    route: str
    path: str
    method: str
    token: str | None
    headers: dict[str, str]
    body: bytes = field(repr=False)
    may_read: frozenset[str]


class BadRequests:
    """A sequence of requests that its seed determines, and their judge."""

    def __init__(self, service: Small, files: list[Path], *, seed: int = 0) -> None:
        self._service = service
        self._files = files
        self._choose = Choices("bad requests", seed)
        self._document = Document(service.client.get("/openapi.json").json)
        self._tokens = self._made_tokens()
        identity = service.client.get("/v1/streams/open/releases").json["next"]
        self._cursor = identity.partition(".")[0]
        self._secrets = [CANARY.encode(), *(str(file).encode() for file in files)]
        self._before = self._contents()

    def _made_tokens(self) -> list[tuple[str | None, frozenset[str]]]:
        """Tokens of all kinds, each with the streams that its holder may know of."""
        make = self._service.token
        known: list[tuple[str | None, frozenset[str]]] = [(None, frozenset())] * 4
        for stream in ("open", "closed", "apart"):
            known += [(make(scope, stream), frozenset({stream})) for scope in _SCOPES]
        known.append((make("read", revoked=True), frozenset()))
        known.append((make("read", made=NOW - timedelta(days=99)), frozenset()))
        return [*known, (f"ameles_{'0' * 64}", frozenset()), (ECHO, frozenset())]

    def one(self) -> BadRequest:
        """The next request."""
        choose = self._choose
        route = choose.one_of(sorted(self._document.paths))
        stream = choose.one_of(STREAMS) if choose.chance(90) else self._text()
        method = "POST" if route == POSTED and choose.chance(60) else choose.one_of(METHODS)
        operations = self._document.paths[route]
        parameters = operations.get(method.lower(), operations["get"]).get("parameters", [])
        pairs = [
            (one["name"], self._value(one["name"], one["schema"]))
            for one in parameters
            if one["in"] == "query" and choose.chance(90 if one["required"] else 35)
        ]
        if choose.chance(10):
            pairs.append((self._text(), self._text()))
        if pairs and choose.chance(10):
            pairs.append((pairs[0][0], self._text()))
        token, may_read = choose.one_of(self._tokens)
        names = [name for name in HEADERS if choose.chance(8)]
        query = "&".join(
            f"{quote(name, errors='replace')}={quote(v, errors='replace')}" for name, v in pairs
        )
        return BadRequest(
            route,
            route.replace("{name}", stream) + (f"?{query}" if query else ""),
            method,
            token,
            {name: self._text().encode().decode("latin-1") for name in names} | self._posting(),
            choose.one_of(BODIES) if method == "POST" else self._text().encode(),
            may_read | {"open"},
        )

    def _posting(self) -> dict[str, str]:
        """The headers of a batch, right or wrong."""
        choose, numbers = self._choose, [text for text in NUMBERS if text.isascii()]
        all_of_them = {
            "Ameles-Batch": self._text().encode().decode("latin-1"),
            "Ameles-Step": choose.one_of(numbers),
            "Content-Type": choose.one_of(
                ("application/json", "application/x-ndjson", "text/csv", "text/csv; charset=x", "")
            ),
            "Content-Encoding": choose.one_of(("", "identity", "gzip", "br", ECHO)),
        }
        return {name: value for name, value in all_of_them.items() if choose.chance(80)}

    def _text(self) -> str:
        return ECHO + self._choose.one_of(TEXTS)

    def _value(self, name: str, schema: dict[str, Any]) -> str:
        """A value that a parameter may take, or one that it cannot."""
        choose = self._choose
        if choose.chance(15):
            return self._text()
        if name in KNOWN and choose.chance(70):
            return choose.one_of(KNOWN[name]).replace("{}", self._cursor)
        kinds = [one.get("type") or one.get("$ref") for one in schema.get("anyOf", [schema])]
        if any(one.get("format") == "date-time" for one in schema.get("anyOf", [schema])):
            return choose.one_of(TIMES)
        if "integer" in kinds:
            return choose.one_of(NUMBERS)
        if name == "format":
            return choose.one_of(("json", "series", "csv", "arrow", "parquet", "xml"))
        return choose.one_of(TEXTS)

    def send(self, request: BadRequest) -> list[str]:
        """Sends one; what was wrong with its answer."""
        answer = self._service.client.get(
            request.path,
            request.token,
            method=request.method,
            headers=request.headers,
            body=request.body,
            enough=lambda pieces: True,
        )
        wrong = list(self._wrong(request, answer))
        wrong += [f"{type(one).__name__} in the log" for one in self._service.problems]
        self._service.problems.clear()
        return [f"{request.method} {request.path[:300]!r}: {one}" for one in wrong]

    def _wrong(self, request: BadRequest, answer: Answer) -> Iterator[str]:
        closed = request.route == POSTED and request.method in ("GET", "HEAD", "POST")
        if answer.status >= 500 and not (answer.status == 503 and closed):
            yield f"status {answer.status}"
        method = "GET" if request.method == "HEAD" else request.method
        if not (request.method == "HEAD" or answer.status == 405):
            yield from self._document.problems(request.route, method, answer)
        whole = answer.body + repr(sorted(answer.headers.items())).encode()
        for secret in self._secrets:
            if secret in whole:
                yield "a secret"
        if ECHO.encode() in answer.body and answer.status != 200:
            yield "an echo"
        for name in {"closed", "apart"} - request.may_read:
            if f'"{name}'.encode() in answer.body:
                yield f"the hidden stream '{name}'"

    def changes(self) -> list[str]:
        """The stores that are not as they were; tokens were all made before."""
        return [str(f) for f, now in self._contents().items() if now != self._before[f]]

    def _contents(self) -> dict[Path, str]:
        return {file: _digest(file) for file in self._files}


_SCOPES: tuple[Any, ...] = ("ingest", "read", "admin")


def _digest(file: Path) -> str:
    """All rows of a store."""
    with closing(sqlite3.connect(file)) as connection:
        text = "\n".join(connection.iterdump())
    return hashlib.sha256(text.encode()).hexdigest()
