"""Counts in words.

>>> counted(1, "event"), counted(2000, "event"), lines_have(1), are(2, "line")
('1 event', '2,000 events', '1 line has', '2 lines are')
"""

from __future__ import annotations


def lines_have(count: int) -> str:
    """So many lines have."""
    return f"{counted(count, 'line')} {'has' if count == 1 else 'have'}"


def are(count: int, word: str) -> str:
    """So many things are."""
    return f"{counted(count, word)} {'is' if count == 1 else 'are'}"


def counted(count: int, word: str) -> str:
    """So many things."""
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
