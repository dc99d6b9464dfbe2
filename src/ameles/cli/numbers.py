"""Numbers as people write them on a command line.

>>> whole_number("2^16", "horizon"), whole_number("65_536", "horizon")
(65536, 65536)
"""

from __future__ import annotations

import re

from ameles.core.parameters import refuse

_POWER = re.compile(r"([0-9]{1,6})(?:\^|\*\*)([0-9]{1,3})")
_PLAIN = re.compile(r"[0-9][0-9_]{0,39}")


def whole_number(text: str, name: str) -> int:
    """An integer, written out or as a power."""
    power = _POWER.fullmatch(text.strip())
    if power:
        value: int = int(power[1]) ** int(power[2])
        return value
    if _PLAIN.fullmatch(text.strip()):
        return int(text)
    raise refuse(name, "a whole number, such as 65536 or 2^16", text)
