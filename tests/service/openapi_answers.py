"""Whether an answer is as the OpenAPI document says: its status, its media type, its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.service.asgi import Answer

# Answers that every address may give before a route is found.
ANYWHERE = {400, 404, 405, 414}
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


class Document:
    """The OpenAPI document of an application."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.paths: dict[str, dict[str, Any]] = document["paths"]

    def problems(self, path: str, method: str, answer: Answer) -> Iterator[str]:
        """What is wrong with an answer of an operation."""
        responses = self.paths[path].get(method.lower(), {}).get("responses", {})
        if str(answer.status) not in responses:
            if answer.status not in ANYWHERE:
                yield f"status {answer.status} is not described"
            return
        content = responses[str(answer.status)].get("content", {})
        media = answer.headers.get("content-type", "").partition(";")[0]
        if answer.status != 304 and media not in content:
            yield f"the type {media} is not described"
        schema = content.get(media, {}).get("schema")
        if media == "application/json" and schema and answer.body:
            yield from self.differences(json.loads(answer.body), schema)

    def differences(self, value: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
        """Where a value is not as its schema says; fields that it does not name are wrong."""
        if "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema:
            if all(any(self.differences(value, one, at)) for one in schema["anyOf"]):
                yield f"{at}: none of what it may be"
            return
        kind = schema.get("type")
        if kind and (
            not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean")
        ):
            yield f"{at}: no {kind}"
            return
        if "enum" in schema and value not in schema["enum"]:
            yield f"{at}: not in the list"
        if kind == "array":
            for one in value:
                yield from self.differences(one, schema.get("items", {}), f"{at}[]")
        if kind == "object" and "properties" in schema:
            yield from self._fields(value, schema, at)

    def _fields(self, value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
        known = schema["properties"]
        for name in {*schema.get("required", ())} - {*value}:
            yield f"{at}: {name} is missing"
        for name, one in value.items():
            if name not in known:
                yield f"{at}: {name} is not described"
            else:
                yield from self.differences(one, known[name], f"{at}.{name}")
