"""Requests that nobody should send, and what must hold after each.

No server error, no change of the store, no event value, secret or echo in an answer, and every
answer as the OpenAPI document describes it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.asgi import Answer
from tests.service.openapi_cases import ECHO, POSTED, Sharp, cases, read_document
from tests.service.small_service import CANARY, NOW, Small

# Answers that every address may give before a route is found.
ANYWHERE = {400, 404, 405, 414}
CONFORMING = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
Held = tuple[str | None, frozenset[str]]  # a token, and the streams that its holder may know of


class BadRequests:
    """Requests to a service that are made from its own description, and their judge."""

    def __init__(self, service: Small, files: list[Path]) -> None:
        self._service = service
        self._files = files
        self._schema = read_document(service.client.get("/openapi.json").json)
        self._tokens = self._made_tokens()
        identity = service.client.get("/v1/streams/open/releases").json["next"]
        self._cases = cases(self._schema, f"{identity.partition('.')[0]}.2.1")
        self._secrets = [CANARY.encode(), *(str(file).encode() for file in files)]
        self._before = self._contents()
        self.methods: Counter[str] = Counter()

    def _made_tokens(self) -> list[Held]:
        """Tokens of all kinds; None: as the request has it, mostly without one."""
        make = self._service.token
        known: list[Held] = [(None, frozenset())] * 4
        for stream in ("open", "closed", "apart"):
            known += [(make(scope, stream), frozenset({stream})) for scope in _SCOPES]
        known.append((make("read", revoked=True), frozenset()))
        known.append((make("read", made=NOW - timedelta(days=99)), frozenset()))
        return [*known, (f"ameles_{'0' * 64}", frozenset()), (ECHO, frozenset())]

    def ask(self, route: str, **parameters: str) -> list[str]:
        """Sends one plain request; what was wrong with its answer."""
        case = self._schema[route]["GET"].Case(path_parameters=parameters)
        return self._sent(Sharp(case), None, frozenset())

    def send(self, count: int, *, seeded: int = 0) -> list[str]:
        """Sends so many; what was wrong with their answers."""
        wrong: list[str] = []

        @seed(seeded)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(self._cases, st.sampled_from(self._tokens))
        def each(sharp: Sharp, held: Held) -> None:
            wrong.extend(self._sent(sharp, *held))
            self.methods[sharp.case.method] += 1

        each()
        return wrong

    def _sent(self, sharp: Sharp, token: str | None, may_read: frozenset[str]) -> list[str]:
        """What is wrong with the answer to a request."""
        case = sharp.case
        request = requests.Request(**case.as_transport_kwargs(base_url="http://here")).prepare()
        given = {name.lower(): str(value) for name, value in request.headers.items()}
        given |= {name.lower(): value for name, value in sharp.headers.items()}
        body: Any = request.body or b""
        if token is not None:
            given.pop("authorization", None)
        answer = self._service.client.get(
            str(request.url).removeprefix("http://here"),
            token,
            method=case.method,
            headers=given,
            body=body if isinstance(body, bytes) else body.encode(),
            enough=lambda pieces: True,
        )
        wrong = list(self._wrong(case, answer, may_read | {"open"}))
        wrong += _unlike_the_document(case, request, answer)
        wrong += [f"{type(one).__name__} in the log" for one in self._service.problems]
        self._service.problems.clear()
        return [f"{case.method} {str(request.url)[:300]!r}: {one}" for one in wrong]

    def _wrong(self, case: Case[Any], answer: Answer, may_read: frozenset[str]) -> Iterator[str]:
        closed = case.path == POSTED and case.method in ("GET", "HEAD", "POST")
        if answer.status >= 500 and not (answer.status == 503 and closed):
            yield f"status {answer.status}"
        whole = answer.body + repr(sorted(answer.headers.items())).encode()
        for secret in self._secrets:
            if secret in whole:
                yield "a secret"
        if ECHO.encode() in answer.body and answer.status != 200:
            yield "an echo"
        for name in {"closed", "apart"} - may_read:
            if f'"{name}'.encode() in answer.body:
                yield f"the hidden stream '{name}'"

    def changes(self) -> list[str]:
        """The stores that are not as they were; tokens were all made before."""
        return [str(f) for f, now in self._contents().items() if now != self._before[f]]

    def _contents(self) -> dict[Path, str]:
        return {file: _digest(file) for file in self._files}


_SCOPES: tuple[Any, ...] = ("ingest", "read", "admin")


def _unlike_the_document(
    case: Case[Any], request: requests.PreparedRequest, answer: Answer
) -> Iterator[str]:
    described = case.operation.definition.raw["responses"]
    if case.method != case.operation.method.upper() or answer.status == 304:
        return
    if answer.status in ANYWHERE and str(answer.status) not in described:
        return
    headers = {name: [value] for name, value in answer.headers.items()}
    response = schemathesis.Response(
        answer.status, headers, answer.body, request=request, elapsed=0.0, verify=False
    )
    try:
        case.validate_response(response, checks=CONFORMING)
    except schemathesis.errors.FailureGroup as found:
        for one in found.exceptions:
            yield f"{type(one).__name__} {str(one)[:300]}"


def _digest(file: Path) -> str:
    """All rows of a store."""
    with closing(sqlite3.connect(file)) as connection:
        text = "\n".join(connection.iterdump())
    return hashlib.sha256(text.encode()).hexdigest()
