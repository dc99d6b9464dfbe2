"""JSON Lines: an event is an object on a line of its own; a nested value is its JSON text."""

from __future__ import annotations

from ameles.connectors.identity import json_id
from ameles.connectors.text import LINES, Dialect
from ameles.connectors.typed import IDS, Typed, typed
from ameles.measures.fields import literal


class JsonLines(Dialect):
    """Lines of objects; a key that is missing or null is NULL."""

    header = False

    def names(self, first: str) -> tuple[str, ...]:
        return tuple(self.columns)

    def check(self, names: tuple[str, ...], file: str) -> None:
        """Any object is an event: there is nothing to check."""

    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        return chunk, False

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        paths = ", ".join(_pointer(name) for name in self.columns)
        # The extraction fails on a line that is no JSON, and that line alone is then NULL.
        fields = f"TRY(json_extract_string(line, [{paths}]))"
        event = "starts_with(ltrim(line, ' ' || chr(9) || chr(13)), '{')"
        wanted, columns = [f"{fields} AS fields"], []
        for place, (name, kind) in enumerate(self.columns.items(), 1):
            field = f"fields[{place}]"
            if kind in IDS.values():  # the text alone does not tell 7 from "7" or true
                wanted.append(f"TRY(json_type(line, {_pointer(name)})) AS type_{place}")
                field = json_id(f"type_{place}", field)
            columns.append(Typed(name, kind, field))
        split = f"SELECT {', '.join(wanted)} FROM {LINES} WHERE {event}"
        return typed(columns, f"(SELECT * FROM ({split}) WHERE fields IS NOT NULL)")


def _pointer(name: str) -> str:
    """A JSON pointer in SQL, in which a name may have any character."""
    return literal("/" + name.replace("~", "~0").replace("/", "~1"))
