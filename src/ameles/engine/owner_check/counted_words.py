"""Counts in words.

>>> counted(1, "event"), counted(2000, "event"), has(1, "line"), are(2, "line")
('1 event', '2,000 events', '1 line has', '2 lines are')
>>> verb(1, "count"), verb(2, "count")
('counts', 'count')
"""

from __future__ import annotations


def has(count: int, word: str) -> str:
    """The count with noun and verb: 1 line has, 2 lines have."""
    return f"{counted(count, word)} {'has' if count == 1 else 'have'}"


def are(count: int, word: str) -> str:
    """The count with noun and verb: 1 event is, 2 events are."""
    return f"{counted(count, word)} {'is' if count == 1 else 'are'}"


def verb(count: int, plural: str) -> str:
    """The verb that goes with a count: counts, count; has, have."""
    if count != 1:
        return plural
    return {"have": "has", "are": "is"}.get(plural, f"{plural}s")


def counted(count: int, word: str) -> str:
    """The count with its noun: 1 event, 2 events."""
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
