"""The errors for files if Ameles cannot tell what was counted of them."""

from __future__ import annotations

import json
from pathlib import Path

from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused

_UNPACK = {".gz": "gunzip", ".zst": "unzstd --rm", ".bz2": "bunzip2"}
UNPACK_TO_OUTPUT = {".gz": "gunzip -c", ".zst": "unzstd -c", ".bz2": "bunzip2 -c"}


def unreadable(name: str) -> SourceUnreadable:
    """The error for a file that the operating system refuses to open."""
    return SourceUnreadable(
        f"The file '{name}' cannot be read.",
        why="its permissions do not allow it, or its disk fails; nothing new in it was counted",
        tip=f"chmod u+r '{name}', as its owner: it is read as soon as that is possible",
    )


def closed(name: str) -> SourceUnreadable:
    """The error for a folder that the operating system does not let us look into."""
    return SourceUnreadable(
        f"The folder '{name}' cannot be looked into.",
        why="its permissions do not allow it; nothing new in it was counted",
        tip=f"chmod u+rx '{name}', as its owner: its files are read as soon as that is possible",
    )


def carriage_returns(name: str, encoding: str) -> PlanError:
    """The error for a file whose lines end with CR alone, as some old programs write them."""
    text = f"tr '\\r' '\\n' < '{name}' > NEW, and then read NEW"
    if encoding.startswith("utf-16"):
        text = f"iconv -f {encoding.upper()} -t UTF-8 '{name}' | tr '\\r' '\\n' > NEW, and NEW as "
        text += "source, without encoding"
    elif unpack := UNPACK_TO_OUTPUT.get(Path(name).suffix.lower()):
        text = f"{unpack} '{name}' | tr '\\r' '\\n' > NEW, and then read NEW"
    return PlanError(
        f"The lines of the file '{name}' end with a carriage return, not with a newline.",
        why="only a newline ends a line (LF, or CR and LF), so none of its events would be read",
        tip=text,
    )


def replaced(
    name: str, *, unread: bool = False, copies: bool = False, grows: bool = True
) -> StoreRefused:
    """The error for a file that is no longer the one that was read or, if ``unread``, the one that
    existed at the launch.  ``copies`` says that the plan has ``rotated``, ``grows`` that the file
    may get more lines."""
    copytruncate = 'rotated = "events.csv.*" in the plan'
    if copies:
        copytruncate = "keep the copy until it is read, under a name that rotated in the plan "
        copytruncate += "matches: no such copy begins with what the file had"
    counted = "if none of its events was counted before,"
    back = (
        "put the file back as it was and only append to it; for files that are rotated, a source "
        'such as "events.csv*", which also matches their old names; for copytruncate, '
        f"{copytruncate}"
    )
    if not grows:
        back = "put the file back as it was, and new events into a file of their own"
    return StoreRefused(
        f"The file '{name}' was replaced or {'cut' if grows else 'changed'} since "
        + ("the launch." if unread else "it was last read."),
        why=(
            "what it had then was not counted yet, and is gone"
            if unread
            else "Ameles can no longer tell which of its events were counted before"
        )
        + ("" if grows else "; a compressed file, or one of Parquet, must not change"),
        tip=f"{back}; {'without what is lost,' if unread else counted} "
        f"ameles run --new-file '{name}' counts all of it",
    )


def copied(name: str, *, unread: bool = False) -> StoreRefused:
    """The error for a different file that begins like one that was read."""
    return StoreRefused(
        f"The file '{name}' begins with what "
        + ("was there at the launch" if unread else "was read before")
        + ", but is another file.",
        why="a file is known by its device and inode, and these are new: it may be the old file, "
        "copied or restored, or a new one whose events all count",
        tip=f"ameles run --same-file '{name}' to go on where the old file ended, or "
        f"ameles run --new-file '{name}' to count all of it",
    )


def uncut(copy: str, name: str) -> StoreRefused:
    """The error for a copy if its original was not truncated, or has received the same lines
    again."""
    return StoreRefused(
        f"The rotated file '{copy}' is what '{name}' begins with, and '{name}' was not cut since.",
        why=f"'{copy}' may be a copy whose events are counted in '{name}'; or '{name}' was cut and "
        "has received the same lines again, which count too",
        tip=f"ameles run --same-file '{copy}' if '{name}' was not cut, or ameles run --new-file "
        f"'{name}' if it was; logs that are renamed instead of copied, or whose lines have a time, "
        "can always be told apart",
    )


def unknown(name: str) -> StoreRefused:
    """The error for a copy that belongs to no file, or to several."""
    return StoreRefused(
        f"The rotated file '{name}' is not the rest of one file that was read.",
        why="it begins with the read part of no file, or of several; so its events may have "
        "been counted before, or missed, as if the log had been rotated twice between two runs",
        tip=f"ameles run --new-file '{name}' to count all of it, or ameles run --same-file "
        f"'{name}' if it was counted; then run more often than the log is rotated",
    )


def damaged(name: str) -> SourceUnreadable:
    """The error for a copy that cannot be unpacked."""
    return SourceUnreadable(
        f"The rotated file '{name}' cannot be unpacked.",
        why="it is not what its ending says",
        tip="a complete file of gzip, zstd or bzip2",
    )


def packed(name: str, source: str, *, copies: bool) -> PlanError:
    """The error for a compressed file if the source is of plain files; ``copies`` says whether the
    plan can have ``rotated``."""
    ending = Path(name).suffix
    ways = [
        f"rotated = {json.dumps(source + ending)} in the plan, if it is a compressed copy of a log "
        "whose lines are counted while it is not compressed",
        f"{_UNPACK[ending.lower()]} '{name}', if all of its lines are to count",
        "a narrower pattern in source, before a launch",
    ]
    return PlanError(
        f"The file '{name}' is compressed, but the source '{source}' is of plain files: none of "
        "its events is read.",
        why="all files of a source are read in the same way, which the ending of the source says",
        tip="; or ".join(ways if copies else ways[1:]),
    )
