"""Numbers and foreign texts as people read them."""

from __future__ import annotations

import math


def brief(number: float | None) -> str:
    """A number for people: whole where it is large.

    >>> brief(20.71), brief(92681.9), brief(1.0), brief(None), brief(math.inf)
    ('20.7', '92,682', '1', '-', '∞')
    """
    if number is None or number != number:
        return "-"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == int(number):
        return f"{int(number):,}"
    size = abs(number)
    return f"{number:,.{0 if size >= 1000 else 1 if size >= 10 else 2}f}"


def printable(text: str) -> str:
    """A text from a plan or from data, in one line, with the characters escaped that could control
    a terminal or reorder what stands around them.

    >>> printable("a\\x1b[2J"), printable("\\u202e2026")
    ('a\\\\x1b[2J', '\\\\u202e2026')
    """
    if text.isprintable():
        return text
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)
