"""Values of Avro: a record is an object, and what is no record of its schema counts nowhere."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, date, datetime, time
from decimal import Decimal
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest

from ameles.connectors.kafka.avro_values import BROKEN, AvroValues
from ameles.connectors.source import SourceRequest
from ameles.core.exceptions import PlanError
from ameles.plan.plan import read_plan_text
from tests.each import together

NULLABLE = ["null", "string"]
VISIT = {
    "type": "record",
    "name": "Visit",
    "namespace": "flu",
    "fields": [
        {"name": "who", "type": "string"},
        {"name": "region", "type": NULLABLE},
        {"name": "amount", "type": "double"},
    ],
}


def values(
    folder: Path, *schemas: Any, ids: tuple[int | None, ...] = (None,), **columns: str
) -> AvroValues:
    named = []
    for number, schema in zip(ids, schemas, strict=True):
        (folder / f"{number}.avsc").write_text(
            schema if isinstance(schema, str) else json.dumps(schema)
        )
        named.append((number, f"{number}.avsc"))
    request = SourceRequest(
        text="kafka://localhost/v", columns=columns, base=folder, schemas=tuple(named)
    )
    return AvroValues.read(request)


def written(schema: Any, record: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


def of(type_: Any) -> dict[str, Any]:
    """A record with one field."""
    return {"type": "record", "name": "One", "fields": [{"name": "a", "type": type_}]}


def test_a_record_is_an_object(tmp_path: Path) -> None:
    avro = values(tmp_path, VISIT, who="text")
    ann = {"who": 'a "b"\n\u00e9', "region": None, "amount": 1.5}
    line = avro.line(written(VISIT, ann))
    assert line is not None
    assert json.loads(line) == ann
    assert b"\n" not in line
    assert avro.line(None) is None
    assert avro.line(b"") is None


_AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
KINDS: list[tuple[Any, Any, Any]] = [
    ("long", 2**62 + 1, 2**62 + 1),
    ("boolean", True, True),
    ("float", float("nan"), None),
    ("double", float("-inf"), None),
    ("bytes", b"\x00\xff", "AP8="),
    ({"type": "enum", "name": "E", "symbols": ["N", "S"]}, "S", "S"),
    ({"type": "array", "items": ["null", "int"]}, [1, None], [1, None]),
    ({"type": "map", "values": "string"}, {"k": "v"}, {"k": "v"}),
    (of("int"), {"a": 7}, {"a": 7}),
    ({"type": "long", "logicalType": "timestamp-millis"}, _AT, "2026-01-02T03:04:05.678000Z"),
    ({"type": "long", "logicalType": "timestamp-micros"}, _AT, "2026-01-02T03:04:05.678000Z"),
    (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        datetime(2026, 1, 2, 3),
        "2026-01-02T03:00:00",
    ),
    ({"type": "int", "logicalType": "date"}, date(2026, 1, 2), "2026-01-02"),
    ({"type": "int", "logicalType": "time-millis"}, time(3, 4), "03:04:00"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
        Decimal("123456789012345678.90"),
        "123456789012345678.90",
    ),
    ({"type": "string", "logicalType": "uuid"}, UUID(int=5), str(UUID(int=5))),
    ({"type": "fixed", "name": "F", "size": 2}, b"ab", "YWI="),
]


@together("case", KINDS)
def test_each_type(tmp_path: Path, case: tuple[Any, Any, Any]) -> None:
    type_, value, expected = case
    inner = (
        type_
        if not isinstance(type_, dict) or type_.get("name") != "One"
        else {**type_, "name": "Two"}
    )
    schema = of(inner)
    line = values(tmp_path, schema, a="text").line(written(schema, {"a": value}))
    assert line is not None
    assert json.loads(line) == {"a": expected}


def test_what_is_no_record_counts_nowhere(tmp_path: Path) -> None:
    avro = values(tmp_path, VISIT, who="text")
    fine = written(VISIT, {"who": "ann", "region": "north", "amount": 1.5})
    broken = [fine + b"\x00", fine[:-1], b"\x00", b"\x01", b"{}", b'{"who": "ann"}', b"\xff" * 40]
    broken += [b"\x06\xff\xfe\xfd" + fine[4:]]  # no UTF-8
    broken += [written(VISIT, {"who": "a" * (1 << 20), "region": None, "amount": 1})]  # too long
    late = of({"type": "long", "logicalType": "timestamp-micros"})
    assert [avro.line(value) for value in broken] == [BROKEN] * len(broken)
    assert values(tmp_path, late).line(written(of("long"), {"a": 2**62})) == BROKEN


def test_random_bytes_end_soon_and_raise_nothing(tmp_path: Path) -> None:
    types: list[Any] = [
        {"type": "array", "items": "long"},
        {"type": "array", "items": {"type": "map", "values": "string"}},
        {"type": "bytes", "logicalType": "decimal", "precision": 9},
        ["null", "bytes", {"type": "long", "logicalType": "timestamp-micros"}],
    ]
    huge = b"\xfe" + b"\xff" * 8 + b"\x01"  # as a count or a length: more than memory has
    for type_ in types:
        avro = values(tmp_path, of(type_))
        for size in range(1, 60):
            for start in (b"", b"\x02", b"\x01", huge, b"\x02" + huge):
                line = avro.line(start + os.urandom(size))
                assert line == BROKEN or json.loads(line or b"") is not None


def test_headers_only_if_they_are_declared(tmp_path: Path) -> None:
    other = of("string")
    ann, old = (
        written(VISIT, {"who": "ann", "region": None, "amount": 1}),
        written(other, {"a": "x"}),
    )
    with_ids = values(tmp_path, VISIT, other, ids=(17, 4_000_000_000))
    header, second = b"\x00\x00\x00\x00\x11", b"\x00" + (4_000_000_000).to_bytes(4, "big")
    assert json.loads(with_ids.line(header + ann) or b"")["who"] == "ann"
    assert json.loads(with_ids.line(second + old) or b"") == {"a": "x"}
    for value in (ann, b"\x01" + header[1:] + ann, b"\x00\x00\x00\x00\x12" + ann, header, b"\x00"):
        assert with_ids.line(value) == BROKEN
    assert values(tmp_path, VISIT).line(header + ann) == BROKEN


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
EMPTY: dict[str, Any] = {"type": "record", "name": "N", "fields": []}
REFUSED: list[tuple[Any, str]] = [
    ("no json", "is not one of Avro"),
    ('{"type": "record"', "is not one of Avro"),
    ("[" * 100_000, "is not one of Avro"),
    (
        {"type": "record", "name": "A", "fields": [{"name": "a", "type": "B"}]},
        "without a definition",
    ),
    ("string", "is not one of Avro"),
    ({"type": "record", "name": 1, "fields": 2}, "is not one of Avro"),
    (json.dumps("string"), "is not one of a record"),
    ({"type": "array", "items": "string"}, "is not one of a record"),
    (LIST, "contains itself"),
    (of({"type": "array", "items": "null"}), "items that take no bytes"),
    (of({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}), "take no bytes"),
    (of({"type": "array", "items": EMPTY}), "take no bytes"),
    (of([EMPTY, {"type": "array", "items": "N"}]), "take no bytes"),
    (of({"type": "map", "values": {"type": "array", "items": "null"}}), "take no bytes"),
]


@together("case", REFUSED)
def test_schemas_that_are_refused(tmp_path: Path, case: tuple[Any, str]) -> None:
    schema, what = case
    with pytest.raises(PlanError, match=what):
        values(tmp_path, schema)


def test_files_and_columns(tmp_path: Path) -> None:
    columns: Any = {"who.name": "text"}
    values(tmp_path, VISIT, **columns)
    with pytest.raises(PlanError, match="no field for the column 'name'"):
        values(tmp_path, VISIT, name="text")
    with pytest.raises(PlanError, match="is not one of Avro"):
        values(tmp_path, json.dumps(VISIT) + " " * (1 << 20))
    request = SourceRequest(text="", columns={}, base=tmp_path, schemas=((None, "missing"),))
    with pytest.raises(PlanError, match="'missing' cannot be read: No such file"):
        AvroValues.read(request)


def test_it_goes_to_other_processes(tmp_path: Path) -> None:
    avro = ForkingPickler.loads(ForkingPickler.dumps(values(tmp_path, VISIT)))
    assert avro.line(written(VISIT, {"who": "a", "region": None, "amount": 1})).startswith(b"{")
    assert repr(avro) == "<AvroValues>"


PLAN = """
[stream]
name = "flu"
source = "SOURCE"
time = "at"
columns = { at = "timestamp", who = "text" }
start = "2026-01-01"
every = "1d"
KEYS
[privacy]
population = "visitors"
unit = "event"
epsilon = 1
[[release]]
name = "visits"
measure = "count"
[store]
url = "flu.db"
"""
KAFKA = "kafka://localhost/visits"
KEYS: list[tuple[str, str, str]] = [
    (KAFKA, 'format = "avro"', "go together"),
    (KAFKA, 'avro_schema = "a.avsc"', "go together"),
    (KAFKA, 'format = "avro"\navro_schema = { }', "must be the file of a schema"),
    (KAFKA, 'format = "avro"\navro_schema = ""', "must be the file of a schema"),
    (KAFKA, 'format = "avro"\navro_schema = { a = "a.avsc" }', "must be the file of a schema"),
    (KAFKA, 'format = "avro"\navro_schema = { 01 = "a.avsc" }', "must be the file of a schema"),
    (KAFKA, 'format = "avro"\navro_schema = { 1 = 2 }', "must be the file of a schema"),
    (KAFKA, 'format = "avro"\navro_schema = "a"\nencoding = "latin-1"', "in UTF-8"),
    (KAFKA, 'format = "avro"\navro_schema = "a"\nheader = ["at", "who"]', "with CSV alone"),
    ("-", 'format = "avro"\navro_schema = "a.avsc"', "no values in avro"),
]


@together("case", KEYS)
def test_keys_of_plans_that_are_refused(case: tuple[str, str, str]) -> None:
    source, keys, what = case
    with pytest.raises(PlanError) as refused:
        read_plan_text(PLAN.replace("SOURCE", source).replace("KEYS", keys))
    assert what in str(refused.value)


def test_plans_name_schemas() -> None:
    one = 'format = "avro"\navro_schema = "a.avsc"'
    many = 'format = "avro"\navro_schema = { 17 = "a.avsc", 18 = "b.avsc" }'
    plans = [
        read_plan_text(PLAN.replace("SOURCE", KAFKA).replace("KEYS", keys)) for keys in (one, many)
    ]
    assert plans[0].stream.schemas == ((None, "a.avsc"),)
    assert plans[1].stream.schemas == ((17, "a.avsc"), (18, "b.avsc"))
    assert plans[0].to_json() != plans[1].to_json()


def test_a_long_decimal_takes_no_time(tmp_path: Path) -> None:
    """Its digits would take two minutes; one that is as long as any in earnest is read."""
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    for schema in (of(decimal), of(["null", decimal]), of({"type": "array", "items": decimal})):
        read = values(tmp_path, schema, a="text").line
        plain = json.loads(json.dumps(schema).replace(', "logicalType": "decimal"', ""))
        for size, fits in ((1024, True), (1025, False), (1 << 19, False)):
            field = schema["fields"][0]["type"]
            value = b"\x01" * size
            given = [value] if isinstance(field, dict) and "items" in field else value
            line = read(written(plain, {"a": given}))
            assert (line != BROKEN) == fits
