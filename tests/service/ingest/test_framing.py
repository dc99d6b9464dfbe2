"""The framing of bodies: whole or not at all, and never for what a row says."""

from __future__ import annotations

import gzip
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ameles.connectors.http_source import JSON, HttpSource
from ameles.plan.source import plan_source
from ameles.service.ingest import framing
from ameles.service.ingest.framing import framed
from ameles.service.refusals import Refused
from tests.engine.posted import posted_world
from tests.engine.worlds import HEADER, World, row

FLAT = ['{"a":1}', '{"b":[2,3]}', ' {"a":  4} ']
CANARY = "a-person-who-must-not-be-named"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> HttpSource:
    opened = plan_source(posted_world(World(tmp_path_factory.mktemp("plan"))).plan)
    assert isinstance(opened, HttpSource)
    return opened


def refused(source: HttpSource, body: bytes, kind: str, encoding: str = "") -> Refused:
    with pytest.raises(Refused) as caught:
        framed(body, kind, encoding, source)
    said = f"{caught.value.what} {caught.value.why} {caught.value.tip}"
    assert CANARY not in said
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize(
    ("kind", "body", "lines"),
    [
        ("application/json", b" [] ", []),
        (
            "application/json",
            b'[{"a":1},\n {"a":\r\n2} , null]',
            ['{"a":1}', '  {"a":  2} ', " null"],
        ),
        ("application/json", b'[{"a":1},{"b":[2,3]},\n{"a":\r\n4} ]', FLAT),
        ("application/json", b'[{"a":1} ,{"a":2}]', ['{"a":1} ', '{"a":2}']),
        ("application/json", b'[{"a":"},"},{"a":"{"}]', ['{"a":"},"}', '{"a":"{"}']),
        ("application/json", b'["{", "},"]', ['"{"', ' "},"']),
        ("application/json; charset=UTF-8", b'["\xc3\xa9\\n"]', ['"\u00e9\\n"']),
        ("application/json", b"[" + b"9" * 5000 + b"]", ["9" * 5000]),  # no number is read
        ("Application/X-NDJSON", b'{"a":1}\r\n\n{"a":2}', ['{"a":1}\r', '{"a":2}']),
        ("application/jsonl", '{"a":"\u2028\x85"}\n'.encode(), ['{"a":"\u2028\x85"}']),
        ("application/x-jsonlines", b"", []),
        ("text/csv", f"{HEADER}\r\n{row(1)}\r\n\n{row(2)}".encode(), [row(1) + "\r", row(2)]),
        ("text/csv", f"{HEADER}\nnot,as,many\n".encode(), ["not,as,many"]),
        ("text/csv", HEADER.encode(), []),
        ("text/csv", f"\ufeff{HEADER}\n{row(1)}\n".encode(), [row(1)]),
        ("application/json", b'\xef\xbb\xbf[{"a":1}]', ['{"a":1}']),
        ("application/x-ndjson", b'\xef\xbb\xbf{"a":1}', ['{"a":1}']),
    ],
)
def test_what_is_whole_becomes_lines(
    source: HttpSource, kind: str, body: bytes, lines: list[str]
) -> None:
    for encoding, sent in (("", body), ("GZIP", gzip.compress(body)), ("identity", body)):
        found = framed(sent, kind, encoding, source)
        assert found.lines.decode().split("\n") == [*lines, ""]
        assert (found.form == JSON) == ("csv" not in kind)
        assert repr(found).count("lines") == 0


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (415, "", b"[]"),
        (415, "application/xml", b"[]"),
        (415, "application/json; charset=latin-1", b"[]"),
        (415, 'text/csv; charset="utf-16"', HEADER.encode()),
        (400, "application/json", b""),
        (400, "application/json", b'{"a":1}'),
        (400, "application/json", b'[{"a":1}'),
        (400, "application/json", b'[{"a":1},]'),
        (400, "application/json", b'[{"a":1} {"a":1}]'),
        (400, "application/json", b'[{"a":1}] more'),
        (400, "application/json", f'["{CANARY}", oops]'.encode()),
        (400, "application/json", b"[NaN]"),
        (400, "application/json", b"[-Infinity]"),
        (400, "application/json", b'["\xff"]'),
        (400, "application/json", b'["a\nb"]'),
        (400, "application/json", b"[" * 100_000),
        (400, "application/x-ndjson", f'{{"a":"{CANARY}"}}\n{{"a":'.encode()),
        (400, "application/x-ndjson", b'{"a":1} {"a":2}'),
        (400, "application/x-ndjson", b'{"a":[1\n2]}\n'),
        (400, "application/x-ndjson", b'{"a":\n1}'),
        (400, "application/x-ndjson", b'{"a":"}\n{":1}'),
        (400, "application/x-ndjson", b'{"a":"}\n{"},5'),
        (400, "application/x-ndjson", b'{"a":"}\n{"}'),
        (400, "application/x-ndjson", b'{"a":[{}\n{}]}\n{},{}'),
        (400, "application/x-ndjson", b'1,{"a":{}\n{}}'),
        (400, "text/csv", b""),
        (400, "text/csv", f"at,{CANARY}\n".encode()),
        (400, "text/csv", f"{HEADER},who\n".encode()),
        (400, "text/csv", f"{HEADER},{'x' * (1 << 14)}\n".encode()),
        (413, "application/json", b"[" + b"1," * 1000 + b"1]"),
        (413, "application/x-ndjson", b"1\n" * 1001),
        (413, "text/csv", f"{HEADER}\n".encode() + b"1\n" * 1001),
        (413, "text/csv", f"{HEADER}\n".encode() + b"1" * (1 << 20)),
    ],
)
def test_what_is_not_whole_is_refused(
    source: HttpSource, status: int, kind: str, body: bytes
) -> None:
    assert refused(source, body, kind).status == status


@pytest.mark.parametrize("levels", [1_000, 1_021, 5_000, 500_000])
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_an_event_may_be_nested_as_deep_as_it_likes(
    source: HttpSource, kind: str, levels: int
) -> None:
    deep = b'{"a":' + b"[" * levels + b"1, 2" + b"]" * levels + b"}"
    events = [b'{"who":"a"}', deep, b"[]", b'{"who":"b"}']
    array = kind == "application/json"
    body = b"[" + b",".join(events) + b"]" if array else b"\n".join(events)
    assert framed(body, kind, "", source).lines == b"".join(event + b"\n" for event in events)
    assert refused(source, body.replace(b"1, 2", b"1, }"), kind).status == 400
    many = body.replace(b"[]", b"[]," * 1000 + b"1" if array else b"[]\n" * 1000)
    assert refused(source, many, kind).status == 413


@pytest.mark.parametrize("body", [b"[]", b" [\t]\r\n", b"[1e999]"])
def test_an_array_with_a_number_that_no_parser_knows_is_counted_too(
    source: HttpSource, body: bytes
) -> None:
    assert framed(body, "application/json", "", source).lines.count(b"\n") == (b"1" in body)


def test_a_thousand_events_and_a_megabyte_are_taken(source: HttpSource) -> None:
    for kind, body in (
        ("application/json", b"[" + b"1," * 999 + b"1]"),
        ("application/x-ndjson", b"1\n" * 1000),
        ("text/csv", f"{HEADER}\n".encode() + b"1\n" * 1000),
    ):
        assert framed(body, kind, "", source).lines.count(b"\n") == 1000
    largest = b'["' + b"x" * ((1 << 20) - 4) + b'"]'
    assert len(framed(largest, "application/json", "", source).lines) == (1 << 20) - 1


# Made when asked for: to compress the bomb takes a second, and gzip writes the time of it.
PACKED: dict[str, tuple[int, Callable[[], bytes]]] = {
    "no gzip": (400, lambda: b"no gzip"),
    "cut": (400, lambda: gzip.compress(b"[]")[:-1]),
    "more": (400, lambda: gzip.compress(b"[]") + b"more"),
    "the second is cut": (400, lambda: gzip.compress(b"[") + gzip.compress(b"]")[:-1]),
    "the second is none": (400, lambda: gzip.compress(b"[]") + b"\0" * 9),
    "too many": (400, lambda: gzip.compress(b"[]") + gzip.compress(b"") * framing.MOST_MEMBERS),
    "large together": (413, lambda: gzip.compress(b" " * (1 << 19)) * 3),
    "large": (413, lambda: gzip.compress(b"[" + b" " * (1 << 20) + b"]")),
    "a bomb is not unpacked": (413, lambda: gzip.compress(bytes(1 << 28), compresslevel=1)),
}


@pytest.mark.parametrize("name", PACKED)
def test_broken_compression_and_bombs_are_refused(source: HttpSource, name: str) -> None:
    status, make = PACKED[name]
    assert refused(source, make(), "application/json", "gzip").status == status


@pytest.mark.parametrize("noisy", [False, True])
def test_a_body_may_be_packed_in_several_parts(source: HttpSource, noisy: bool) -> None:
    value = secrets.token_hex(3 * framing.AT_ONCE) if noisy else "a" * 6 * framing.AT_ONCE
    lines = [f'{{"n":{n},"x":"{value if n == 1 else ""}"}}\n' for n in range(framing.MOST_MEMBERS)]
    packed = b"".join(gzip.compress(line.encode()) for line in lines)
    assert framed(packed, "application/x-ndjson", "gzip", source).lines.decode() == "".join(lines)


def test_other_compression_is_refused(source: HttpSource) -> None:
    assert refused(source, b"[]", "application/json", "br").status == 415


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    events=st.lists(VALUES, max_size=6), indent=st.sampled_from([None, 1]), escaped=st.booleans()
)
def test_an_array_and_its_lines_say_the_same(
    events: list[object], indent: int | None, escaped: bool
) -> None:
    body = json.dumps(events, indent=indent, ensure_ascii=escaped, allow_nan=False)
    try:
        sent = body.encode()
    except UnicodeEncodeError:  # half of a pair: no UTF-8
        return
    lines = framing.events_in_json(sent).lines.decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == events
    again = framing.events_in_lines("\n".join(lines).encode())
    assert again.lines.decode().split("\n")[:-1] == lines


FLAT_EVENTS = st.dictionaries(st.text("ab{},", max_size=2), st.text("ab{},", max_size=2))


@given(events=st.lists(FLAT_EVENTS, max_size=4), tight=st.booleans())
def test_flat_events_are_split_where_they_end(events: list[object], tight: bool) -> None:
    body = json.dumps(events, separators=(",", ":") if tight else None).encode()
    lines = framing.events_in_json(body).lines.decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == events


PARTS = st.sampled_from(["{", "}", "}\n{", '"', ",", ":", "[", "]", '"a":1', "1", "\n", "{}"])


@given(st.lists(PARTS, max_size=12))
@example(["{", '"', "}\n{", '"', ":", "1", "}", ",", "1"])
def test_what_looks_like_an_object_a_line_is_that(parts: list[str]) -> None:
    text = "".join(parts)
    if framing._one_object_a_line(text.encode()):
        assert {type(json.loads(line)) for line in text.split("\n")} == {dict}


@given(st.binary(max_size=40))
def test_any_bytes_are_framed_or_refused(body: bytes) -> None:
    for read in (framing.events_in_json, framing.events_in_lines):
        with suppress(Refused):
            read(body)


def test_a_plan_may_name_the_columns_itself(tmp_path: Path) -> None:
    names = ", ".join(f'"{name}"' for name in HEADER.split(","))
    world = posted_world(World(tmp_path, stream=f"header = [{names}]"))
    source = plan_source(world.plan)
    assert isinstance(source, HttpSource)
    assert framed(f"{row(1)}\n".encode(), "text/csv", "", source).lines == f"{row(1)}\n".encode()


def test_the_copy_in_which_events_are_cut_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[np.ndarray[Any, Any]] = []

    class Watched(np.ndarray[Any, Any]):
        def copy(self, *given: Any) -> Any:
            copies.append(super().copy(*given))
            return copies[-1]

    read = np.frombuffer
    monkeypatch.setattr(np, "frombuffer", lambda *given, **more: read(*given, **more).view(Watched))
    nested = f'[{{"who": {{"name": "{CANARY}"}}}}]'.encode()
    assert CANARY.encode() in framing.events_in_json(nested).lines
    assert [copy.any() for copy in copies] == [False]
