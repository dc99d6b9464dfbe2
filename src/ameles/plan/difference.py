"""What differs between two plans, key by key, for people.

>>> difference('{"privacy":{"epsilon":"1"}}', '{"privacy":{"epsilon":"2"}}')
['privacy.epsilon: was 1, is 2']
"""

from __future__ import annotations

import json
from typing import Any


def difference(before: str, after: str) -> list[str]:
    """One line for each key that changed."""
    old, new = (dict(_flat(json.loads(text))) for text in (before, after))
    return [
        f"{key}: was {old.get(key, 'absent')}, is {new.get(key, 'absent')}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]


def _flat(value: Any, place: str = "") -> list[tuple[str, str]]:
    match value:
        case dict():
            items = [(str(key), inner) for key, inner in value.items()]
        case list() if any(isinstance(inner, dict) for inner in value):
            items = [(str(inner.get("name", n)), inner) for n, inner in enumerate(value, start=1)]
        case _:
            return [(place, str(value))]
    return [pair for key, inner in items for pair in _flat(inner, f"{place}.{key}".lstrip("."))]
