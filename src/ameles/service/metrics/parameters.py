"""The parameters of a query: in the address, or as a form in the body of a POST."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from ameles.service.metrics.query_times import EARLIEST, LATEST, moment
from ameles.service.metrics.refusals import QueryRefused

LONGEST_BODY = 1 << 16
MOST_FIELDS = 200
FORM = "application/x-www-form-urlencoded"


class Parameters:
    """Names and values; a name may come more than once."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def all(self, name: str) -> list[str]:
        """All values of a name."""
        return [value for one, value in self._pairs if one == name]

    def first(self, name: str) -> str:
        """The first value of a name; empty if there is none."""
        return next(iter(self.all(name)), "")

    def moment(self, name: str, default: int) -> int:
        """A time in milliseconds."""
        text = self.first(name)
        return moment(text) if text else default

    @property
    def range(self) -> tuple[int, int]:
        """The times of ``start`` and ``end``; from the first to the last that there is."""
        return self.moment("start", EARLIEST), self.moment("end", LATEST)

    def limit(self) -> int | None:
        """How many entries an answer may have; None: all."""
        text = self.first("limit")
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise QueryRefused("'limit' must be a number of entries.")
        return int(text) or None


async def parameters(request: Request) -> Parameters:
    """What a request asks; the body of a POST comes first."""
    texts = [request.url.query]
    if request.method == "POST":
        body = await _body(request)
        if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() == FORM:
            texts.insert(0, body.decode("utf-8", "replace"))
    try:
        pairs = [
            pair
            for text in texts
            for pair in parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        ]
    except ValueError:
        raise QueryRefused(f"A query may have {MOST_FIELDS} parameters.") from None
    return Parameters(pairs)


async def _body(request: Request) -> bytes:
    held = bytearray()
    try:
        async for chunk in request.stream():
            held += chunk
            if len(held) > LONGEST_BODY:
                raise QueryRefused(f"The body of a query may have {LONGEST_BODY} bytes.")
    except ClientDisconnect:
        raise QueryRefused("The body of the query is not complete.") from None
    return bytes(held)


Asked = Annotated[Parameters, Depends(parameters)]


def described(*names: str, required: frozenset[str] = frozenset()) -> dict[str, Any]:
    """These parameters for the OpenAPI document, of a GET."""
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "description": ABOUT[name],
                "schema": {"type": "string"},
            }
            for name in names
        ]
    }


def described_form(*names: str, required: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The same parameters as a form, of a POST."""
    fields = {name: {"type": "string", "description": ABOUT[name]} for name in names}
    schema = {"type": "object", "properties": fields, "required": sorted(required)}
    return {"requestBody": {"content": {FORM: {"schema": schema}}}}


ABOUT = {
    "query": "One selector, or 1+1.",
    "time": "When: seconds since 1970, or as RFC 3339 has it; now by default.",
    "start": "The first moment.",
    "end": "The last moment.",
    "step": "The time between two moments: seconds, or like 1h30m.",
    "match[]": "A selector; may come more than once.",
    "limit": "How many entries at most.",
    "metric": "The name of a metric.",
}
