"""Requests that schemathesis makes from the OpenAPI document, with sharper values thrown in.

Schemathesis makes requests as the document describes them, and requests that break it in one
place.  By itself it hardly ever names a stream that there is, holds a token or packs a body, so
some of its values are replaced: by names that exist, and by texts, numbers, times and bodies that
programs tend to stumble over.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import schemathesis
from hypothesis import strategies as st
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.core.result import Ok

ECHO = "zqxj"  # in every text that is thrown in: no answer repeats what was sent
STREAMS = ("open", "closed", "apart", "absent")
OTHER_METHODS = ("HEAD", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "GET")
POSTED = "/v1/streams/{name}/events"
FORM = "application/x-www-form-urlencoded"
KINDS = ("application/json", "application/x-ndjson", "text/csv", "text/csv; charset=x", "", FORM)
BODIES = (
    *(b"", b"[]", b"{}", b"[{}", b'[{"at":"2026-01-01","age":1e999}]', b"[1]", b"[" * 9000),
    *(b"at,who\n1,2\n", b'{"at":1}\n{"at":', b"\x1f\x8b\x08", b"\xff\xfe", b"[{}]" * 2, b'"a"'),
    *(b"[" + b"{}," * 1000 + b"{}]", b"a" * (1 << 20), b"[" + b" " * (1 << 20) + b"]", b"\x00"),
    gzip.compress(b"[" + b" " * (8 << 20) + b"]", mtime=0),
)
TEXTS = tuple(
    ECHO + text
    for text in (
        *("", " ", "\x00", "%00", "..", "../../etc/passwd", "'", '"; DROP TABLE token; --'),
        *("{{7*7}}", "\U0001f600", "\u202e", "a" * 70, "a" * 2000, "NaN", "null", "[]", "-1"),
        *("1e999", "0x10"),
    )
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
SELECTORS = (
    *("ameles_release_value", '{stream="closed"}', '{stream=~".*"}', '{key!="north"}', "1+1", "up"),
    *(
        '{key=~"("}',
        '{stream=~"(c|a).*"}',
        '{key=~"(a*)*b"}',
        '{a="\\x00"}',
        "{",
        "sum(up)",
        "up[5m]",
    ),
)
MOMENTS = (
    *("1767400000", "1767400000.5", "2026-01-03T00:00:00Z", "-1", "1e300", "NaN", "Inf", "0x10"),
    *("2026-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "60", "1h", "0"),
)
ASKED = {
    **dict.fromkeys(("query", "match[]"), SELECTORS),
    **dict.fromkeys(("time", "start", "end", "step"), MOMENTS),
    "label": ("key", "stream", "__name__", "absent", "a-b"),
    "metric": ("ameles_release_value", "up"),
}
FORMATS = ("json", "series", "csv", "arrow", "parquet", "xml")
HEADERS = ("Accept", "If-None-Match", "Last-Event-ID", "Range", "Origin", "X-Forwarded-For", "Host")


@dataclass(frozen=True)
class Sharp:
    """A request of schemathesis, and headers that replace those of the same name."""

    case: Case[Any]
    headers: dict[str, str] = field(default_factory=dict)


def strictly(schema: Any) -> Any:
    """A document in which no object has a field that is not described."""
    if isinstance(schema, list):
        return [strictly(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strictly(one) for name, one in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


def read_document(document: Mapping[str, Any]) -> BaseSchema:
    """A document as schemathesis reads it."""
    return schemathesis.openapi.from_dict(strictly(document))


def cases(schema: BaseSchema, cursor: str) -> st.SearchStrategy[Sharp]:
    """Requests to all addresses of a document; ``cursor`` is one that may be used."""
    made: list[st.SearchStrategy[Case[Any]]] = []
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        varied = operation.definition.raw.get("parameters")
        modes = [GenerationMode.POSITIVE] + ([GenerationMode.NEGATIVE] if varied else [])
        often = 3 if operation.path == POSTED else 1
        made += [operation.as_strategy(generation_mode=mode) for mode in modes * often]
    known = {
        "release": ("visits", "ages"),
        "key": ("north", "=south", ""),
        "cursor": (cursor,),
        "name": STREAMS,
        **ASKED,
    }
    return _sharpened(st.one_of(made), known)


@st.composite
def _sharpened(
    draw: st.DrawFn, made: st.SearchStrategy[Case[Any]], known: Mapping[str, Sequence[str]]
) -> Sharp:
    case = draw(made)

    def chance(percent: int) -> bool:
        return draw(st.integers(0, 99)) < percent

    def one_of(values: Sequence[Any]) -> Any:
        return draw(st.sampled_from(values))

    if case.path_parameters and chance(90):
        case.path_parameters = {name: one_of(known[name]) for name in case.path_parameters}
    query: dict[str, Any] = dict(case.query or {})
    for parameter in case.operation.definition.raw.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "query" and chance(90 if parameter.get("required") else 35):
            use_known = name in known and chance(70)
            query[name] = one_of(known[name] if use_known else _values(name, parameter["schema"]))
    if chance(10):
        query[one_of(TEXTS)] = one_of(TEXTS)
    case.query = query
    headers = {name: one_of(TEXTS) for name in HEADERS if chance(8)}
    if case.method == "POST" and "/prometheus/" in case.path and chance(70):
        case.body = urlencode({name: one_of(ASKED[name]) for name in ASKED if chance(60)}).encode()
        case.media_type = None
        headers |= {"Content-Type": FORM}
    elif case.method == "POST" and chance(70):
        case.body, case.media_type = one_of(BODIES), None
        headers |= {"Content-Type": one_of(KINDS)}
        headers |= {"Content-Encoding": one_of(("", "identity", "gzip", "br", ECHO))}
    if case.method == "POST" and chance(50):
        numbers = [text for text in NUMBERS if text.isascii()]
        headers |= {"Ameles-Batch": one_of(TEXTS), "Ameles-Step": one_of(numbers)}
    if chance(15):
        case.method = one_of(OTHER_METHODS)
    return Sharp(case, {name: text.encode().decode("latin-1") for name, text in headers.items()})


def _values(name: str, schema: Mapping[str, Any]) -> Sequence[str]:
    """Sharp values for a parameter, most of them of its kind."""
    kinds = schema.get("anyOf", [schema])
    if any(one.get("format") == "date-time" for one in kinds):
        return TIMES
    if any(one.get("type") == "integer" for one in kinds):
        return NUMBERS
    return FORMATS if name == "format" else TEXTS
