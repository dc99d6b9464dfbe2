"""Records of Avro as lines of JSON, by the schema that the plan names.

A value is the binary form of one record.  With the header of a schema registry (a zero byte and
the id of the schema, four bytes) it is read by the schema that the plan names for this id.  What
does not fit its schema exactly becomes a line that is no object, and so counts nowhere.

Texts, numbers, truth values and nulls stay what they are, whichever branch of a union they have.
Times and dates are written as in ISO 8601, decimals and UUIDs as texts, bytes in Base64.
"""

from __future__ import annotations

import base64
import importlib
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from ameles.connectors.source import SourceRequest
from ameles.connectors.text.json_lines import keys
from ameles.connectors.text.lines import LONGEST
from ameles.core.exceptions import MissingExtra, PlanError
from ameles.core.release import written

BROKEN = b"no record"  # a line that is no object
_MAGIC = 0  # the first byte of a header
_HEADER = 5  # bytes
_MOST = 1 << 20  # bytes of a schema
_DECIMAL = 1 << 10  # bytes of a decimal: to write its digits takes the square of its length
_SHORT = "ameles-decimal"  # the logical type of decimals that are not longer


@dataclass(frozen=True, slots=True, repr=False)
class AvroValues:
    """The schemas of values, as texts: by the id in their header, or one (None) without headers."""

    schemas: tuple[tuple[int | None, str], ...]

    def __repr__(self) -> str:
        return "<AvroValues>"

    @classmethod
    def read(cls, request: SourceRequest) -> Self:
        """The schemas that a plan names; each must have the plan's columns."""
        texts = []
        for number, name in request.schemas:
            schema = _read(request.base / name)
            missing = [column for column in request.columns if not _has(schema, column)]
            if missing:
                raise PlanError(
                    f"The schema '{name}' has no field for the column {missing[0][:64]!r}.",
                    why="columns are found by the names of fields",
                    tip="the names of the schema's fields as columns",
                )
            texts.append((number, json.dumps(schema)))
        return cls(tuple(texts))

    def line(self, value: bytes | None) -> bytes | None:
        """A value as an object of JSON; ``BROKEN`` if it is no record of its schema."""
        if not value:
            return None
        try:
            return json.dumps(_plain(self._record(value)), ensure_ascii=False).encode()
        except Exception:  # whatever the parser says of bytes that it was not made for
            return BROKEN

    def _record(self, value: bytes) -> Any:
        schemas = _parsed(self.schemas)
        header = None not in schemas
        if len(value) > LONGEST or (header and value[0] != _MAGIC):
            raise ValueError
        number = int.from_bytes(value[1:_HEADER], "big") if header else None
        body = io.BytesIO(value[_HEADER:] if header else value)
        record = driver().schemaless_reader(body, schemas[number], None)
        if body.read(1):
            raise ValueError
        return record


def driver() -> Any:
    """The module fastavro; if it is missing, the refusal says how to install it."""
    try:
        return importlib.import_module("fastavro")
    except ImportError:
        raise MissingExtra(
            "Values of Avro need fastavro, which is not installed.",
            tip="pip install '.[kafka]' in the clone of Ameles",
        ) from None


@cache
def _parsed(schemas: tuple[tuple[int | None, str], ...]) -> dict[int | None, Any]:
    readers = importlib.import_module("fastavro.read").LOGICAL_READERS
    readers[f"bytes-{_SHORT}"] = partial(_short_decimal, readers["bytes-decimal"])
    parse = driver().parse_schema
    return {number: parse(_with_short_decimals(json.loads(text))) for number, text in schemas}


def _with_short_decimals(schema: Any) -> Any:
    """A schema whose decimals are refused if they are too long."""
    match schema:
        case {"type": "bytes", "logicalType": "decimal"}:
            return {**schema, "logicalType": _SHORT}
        case dict():
            return {name: _with_short_decimals(each) for name, each in schema.items()}
        case list():
            return list(map(_with_short_decimals, schema))
    return schema


def _short_decimal(read: Callable[..., Decimal], data: bytes, *schemas: Any) -> Decimal:
    if len(data) > _DECIMAL:
        raise ValueError
    return read(data, *schemas)


def _read(path: Path) -> Any:
    """The schema in a file, which must be one of records that end."""

    def refused(what: str, why: str = "", tip: str = "a schema of Avro, in JSON") -> PlanError:
        return PlanError(f"The schema '{path.name}' {what}.", why=why, tip=tip)

    fastavro = driver()
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as problem:
        raise refused(f"cannot be read: {problem.strerror}") from None
    try:
        if len(content) > _MOST:
            raise ValueError
        schema = json.loads(content)
        parsed = fastavro.parse_schema(schema)
    except fastavro.schema.UnknownType:
        raise refused("uses a name before it is defined, or without a definition") from None
    except Exception:  # whatever the parser says of what it was not made for
        raise refused("is not one of Avro") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise refused("is not one of a record", why="an event has named fields")
    if not _Types().bounded(parsed):
        raise refused(
            "has a type that contains itself, or a list of items that take no bytes",
            why="a short message could take for ever to read",
            tip="a schema without them",
        )
    return schema


def _has(schema: Any, column: str) -> bool:
    """Whether a record has the field in which a column is found."""
    first, *_ = keys(column)
    return first in [each["name"] for each in schema["fields"]]


class _Types:
    """The named types of a schema that fastavro has parsed, which has only full names."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._open: list[str] = []  # the records around what is looked at

    def bounded(self, schema: Any) -> bool:
        """Whether the length of a value bounds the time to read it."""
        match schema:
            case str():
                return schema not in self._open
            case list():
                return all(map(self.bounded, schema))
            case {"type": "record", "name": name, "fields": fields}:
                self._named[name] = schema
                self._open.append(name)
                fine = all(self.bounded(each["type"]) for each in fields)
                self._open.pop()
                return fine
            case {"type": "fixed", "name": name}:
                self._named[name] = schema
            case {"type": "array", "items": items}:
                return self.bounded(items) and self._takes_bytes(items)
            case {"type": "map", "values": values}:
                return self.bounded(values)
        return True

    def _takes_bytes(self, schema: Any) -> bool:
        """Whether every value of a type takes at least a byte."""
        match self._named.get(schema, schema) if isinstance(schema, str) else schema:
            case "null" | {"type": "null"} | {"type": "fixed", "size": 0}:
                return False
            case {"type": "record", "fields": fields}:
                return any(self._takes_bytes(each["type"]) for each in fields)
        return True


def _plain(value: Any) -> Any:
    """A value of a record as JSON can have it."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float():
            return value if math.isfinite(value) else None
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() if value.tzinfo is not None:
            return written(value)
        case date() | time():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case UUID():
            return str(value)
    return value
