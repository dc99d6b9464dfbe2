"""What the owner of the data declares about files that Ameles cannot identify.

A different file under a known name may be the old one, restored or copied, or a new one.  Only its
owner knows.  The declaration is kept with the file's mark in the position.

>>> Declarations(same=("*.csv",), new=("b.csv",)).about({"a.csv"})
'same'
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

Declared: TypeAlias = Literal["same", "new"] | None


@dataclass(frozen=True, slots=True)
class Declarations:
    """The names or patterns of files that the owner declares as the same or as new."""

    same: tuple[str, ...] = ()  # a file that was read before, with a new inode: go on reading it
    new: tuple[str, ...] = ()  # a different file: count all of it
    skip_gap: str | None = None  # why the stream goes on without messages that were removed unread

    def about(self, names: set[str]) -> Declared:
        """The declaration about a file with these names; None if there is none, or both."""
        same, new = (
            any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
            for patterns in (self.same, self.new)
        )
        if same == new:
            return None
        return "same" if same else "new"

    def unmatched(self, names: set[str]) -> list[str]:
        """The declarations that match none of these files, as options of a command."""
        said = [("--same-file", self.same), ("--new-file", self.new)]
        return [
            f"{option} '{pattern}'"
            for option, patterns in said
            for pattern in patterns
            if not any(fnmatchcase(name, pattern) for name in names)
        ]


NOTHING = Declarations()
