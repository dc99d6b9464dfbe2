r"""JSON Lines: an event is an object on a line of its own; a nested value is read as its JSON text.

A dot in the name of a column goes into an object or a list.  If a key itself contains a dot, write
a backslash before that dot.  Streams launched before paths existed take every name as one key.

>>> keys("user.id"), keys(r"user\.id"), keys(r"a\\.b")
(['user', 'id'], ['user.id'], ['a\\', 'b'])
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ameles.connectors.text.dialect import LINES, Dialect
from ameles.connectors.typed_columns import IDS, Typed, typed
from ameles.connectors.user_ids import json_id
from ameles.core.rules import PATHS
from ameles.measures.fields import literal

_EVENT = "starts_with(ltrim(line, ' ' || chr(9) || chr(13)), '{')"

# What may be wrong with a line.
NO_OBJECT = "no object"
NO_JSON = "no JSON"


class JsonLines(Dialect):
    """Lines of objects; a missing key or a null becomes NULL."""

    header = False

    def names(self, first: str) -> tuple[str, ...]:
        return tuple(self.columns)

    def check(self, names: tuple[str, ...], file: str) -> None:
        """Any object is an event: there is nothing to check."""

    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        return chunk, False

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        paths = ", ".join(self._pointer(name) for name in self.columns)
        # The extraction fails on a line that is not JSON; only that line is then NULL.
        fields = f"TRY(json_extract_string(line, [{paths}]))"
        wanted, columns = [f"{fields} AS fields"], []
        for place, (name, kind) in enumerate(self.columns.items(), 1):
            field = f"fields[{place}]"
            if kind in IDS.values():  # as text, 7 and "7" look the same, and so do true and "true"
                wanted.append(f"TRY(json_type(line, {self._pointer(name)})) AS type_{place}")
                field = json_id(f"type_{place}", field)
            columns.append(Typed(name, kind, field, written=f"fields[{place}]"))
        split = f"SELECT {', '.join(wanted)} FROM {LINES} WHERE {_EVENT}"
        events = f"(SELECT * FROM ({split}) WHERE fields IS NOT NULL)"
        return typed(columns, events, self.form, raw=self.raw)

    def _pointer(self, name: str) -> str:
        """A JSON pointer as an SQL literal; a name may contain any character."""
        path = keys(name) if self.form.rules >= PATHS else [name]
        return literal("".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path))

    def flaws(self, names: tuple[str, ...]) -> Mapping[str, str]:
        return {
            NO_OBJECT: f"NOT {_EVENT}",
            NO_JSON: "TRY(json_extract_string(line, ['/a'])) IS NULL",
        }


def keys(name: str) -> list[str]:
    """The keys that lead to a column, from the outside in; a dot after a backslash is literal."""
    path = [""]
    for part in re.findall(r"\\[.\\]|.", name, re.DOTALL):
        if part == ".":
            path.append("")
        else:
            path[-1] += part[-1]
    return path
