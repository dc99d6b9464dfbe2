"""Versioned JSON: documents that are written today can be identified and read later.

Every document says what it is and in which version.  A newer version is refused, since
a field that this program does not know may change the meaning of all the others.

>>> write("guarantee", 1, {"horizon": 8})
'{"ameles":"guarantee","version":1,"horizon":8}'
"""

from __future__ import annotations

import json
from typing import Any

from ameles.core.exceptions import BadInput, StoreRefused

RESERVED = frozenset({"ameles", "version"})


def write(kind: str, version: int, fields: dict[str, Any]) -> str:
    """A document: its kind, its version, its fields, without spaces, in a fixed order."""
    if taken := RESERVED & fields.keys():
        raise BadInput(f"A {kind} cannot have a field called {', '.join(sorted(taken))}.")
    document = {"ameles": kind, "version": version, **fields}
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def read(kind: str, version: int, text: str) -> dict[str, Any]:
    """The fields of a document of this kind, not newer than this version."""
    document = parse(kind, text)
    accept(kind, version, document.pop("version", None))
    return document


def parse(kind: str, text: str) -> dict[str, Any]:
    """The fields of a document of this kind, with its version, which is not checked yet."""
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, TypeError, RecursionError):
        # The parser's message quotes the text, which may be anything.
        raise damaged(kind) from None
    if not isinstance(document, dict) or document.pop("ameles", None) != kind:
        raise damaged(kind)
    return document


def accept(kind: str, version: int, stored: object) -> None:
    """Refuse a value that is no version, or a version above ``version``."""
    if not isinstance(stored, int) or isinstance(stored, bool) or not 1 <= stored <= 10**6:
        raise damaged(kind)
    if stored > version:
        raise StoreRefused(
            f"This {kind} has version {stored}; this program reads up to version {version}.",
            why="a newer program wrote it",
            tip="update ameles",
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError  # a field that occurs twice: readers differ on which value counts
    return fields


def _no_constant(_: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON


def damaged(kind: str) -> StoreRefused:
    """The error for text that is not such a document; the text itself is not repeated."""
    return StoreRefused(
        f"This is not a {kind} that Ameles can read.",
        why="it is damaged, incomplete or something else",
        tip="the file or record that was written by Ameles, unchanged",
    )
