"""Versioned JSON: what is written today can still be told apart and read later.

Every document says what it is and in which version.  A newer version is refused, since
a field that this program does not know may change the meaning of all the others.

>>> write("guarantee", 1, {"horizon": 8})
'{"ameles":"guarantee","version":1,"horizon":8}'
"""

from __future__ import annotations

import json
from typing import Any

from ameles.core.exceptions import StoreRefused


def write(kind: str, version: int, fields: dict[str, Any]) -> str:
    """A document: its kind, its version, its fields, without spaces, in a fixed order."""
    document = {"ameles": kind, "version": version, **fields}
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def read(kind: str, version: int, text: str) -> dict[str, Any]:
    """The fields of a document of this kind, not newer than this version."""
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise damaged(kind) from problem
    if not isinstance(document, dict) or document.pop("ameles", None) != kind:
        raise damaged(kind)
    found = document.pop("version", None)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise damaged(kind)
    if found > version:
        raise StoreRefused(
            f"This {kind} has version {found}; this program reads up to version {version}.",
            why="a newer program wrote it",
            tip="update ameles",
        )
    return document


def damaged(kind: str) -> StoreRefused:
    """The error for text that is not such a document; the text itself is not repeated."""
    return StoreRefused(
        f"This is not a {kind} that Ameles can read.",
        why="it is damaged, incomplete or something else",
        tip="the file or record that was written by Ameles, unchanged",
    )
