"""Counts in words.

>>> counted(1, "event"), counted(2000, "event"), lines_have(1), are(2, "line")
('1 event', '2,000 events', '1 line has', '2 lines are')
"""

from __future__ import annotations


def lines_have(count: int) -> str:
    """The count with noun and verb: 1 line has, 2 lines have."""
    return f"{counted(count, 'line')} {'has' if count == 1 else 'have'}"


def are(count: int, word: str) -> str:
    """The count with noun and verb: 1 event is, 2 events are."""
    return f"{counted(count, word)} {'is' if count == 1 else 'are'}"


def counted(count: int, word: str) -> str:
    """The count with its noun: 1 event, 2 events."""
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
