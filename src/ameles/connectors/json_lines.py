"""JSON Lines: an event is an object on a line of its own; a nested value is its JSON text."""

from __future__ import annotations

from ameles.connectors.text import LINES, Dialect
from ameles.connectors.typed import Typed, typed
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
        # A JSON pointer, in which a name may have any character.
        paths = ", ".join(
            literal("/" + name.replace("~", "~0").replace("/", "~1")) for name in self.columns
        )
        # The extraction fails on a line that is no JSON, and that line alone is then NULL.
        fields = f"TRY(json_extract_string(line, [{paths}]))"
        event = "starts_with(ltrim(line, ' ' || chr(9) || chr(13)), '{')"
        split = f"SELECT {fields} AS fields FROM {LINES} WHERE {event}"
        events = f"(SELECT fields FROM ({split}) WHERE fields IS NOT NULL)"
        return typed(
            [
                Typed(name, kind, f"fields[{place}]")
                for place, (name, kind) in enumerate(self.columns.items(), 1)
            ],
            events,
        )
