"""Changes one value in the text of a plan, and leaves its comments and its order as they are.

>>> text = '[privacy]\\nepsilon = 1.0  # for a year\\n[[release]]\\nover = "7d"\\n'
>>> print(edited(text, ("privacy", "epsilon"), "0.5"))
[privacy]
epsilon = 0.5  # for a year
[[release]]
over = "7d"
<BLANKLINE>
"""

from __future__ import annotations

import copy
import re
from typing import Any, TypeAlias

from ameles.plan.text import read_toml

# A table and a key of it; or "release", the place of a release from 0, and a key of it.
Address: TypeAlias = tuple[str, str] | tuple[str, int, str]

_TABLE = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_-]+)\s*\]\]?\s*(?:#.*)?")
_LINE = re.compile(r"""(\s*{key}\s*=\s*)("[^"\\]*"|'[^']*'|[^\s#"']+)(\s*(?:#.*)?)""")


def edited(text: str, address: Address, value: str) -> str | None:
    """The text with another value, written as TOML; None if it is not in a line of its own.

    The result is read again: nothing else may have changed.
    """
    line = re.compile(_LINE.pattern.replace("{key}", re.escape(str(address[-1]))))
    lines, inside, releases = text.split("\n"), False, -1
    for number, written in enumerate(lines):
        table = _TABLE.fullmatch(written.rstrip("\r"))
        if table is not None:
            releases += table[2] == "release"
            inside = table[2] == address[0] and (len(address) == 2 or releases == address[1])
        found = line.fullmatch(written.rstrip("\r")) if inside else None
        if found is not None:
            end = "\r" if written.endswith("\r") else ""
            lines[number] = f"{found[1]}{value}{found[3]}{end}"
            changed = "\n".join(lines)
            return changed if _only_this(text, changed, address, value) else None
    return None


def _only_this(before: str, after: str, address: Address, value: str) -> bool:
    expected = copy.deepcopy(read_toml(before))
    table: Any = expected
    for part in address[:-1]:
        table = table[part]
    table[address[-1]] = read_toml(f"value = {value}")["value"]
    return bool(read_toml(after) == expected)
