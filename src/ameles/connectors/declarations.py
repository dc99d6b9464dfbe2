"""What the owner of the data says about files that Ameles cannot tell.

A file under a known name that is another file may be the old one, restored or copied, or a new one.
Only its owner knows; what was said is kept with the file's mark in the position.

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
    """Names or patterns of files."""

    same: tuple[str, ...] = ()  # each is a file that was taken, under a new inode: go on in it
    new: tuple[str, ...] = ()  # each is another file, all of which counts

    def about(self, names: set[str]) -> Declared:
        """What is said about a file with these names; both at once say nothing."""
        same, new = (
            any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
            for patterns in (self.same, self.new)
        )
        if same == new:
            return None
        return "same" if same else "new"

    def unmatched(self, names: set[str]) -> list[str]:
        """What is said, as options of a command, that is about none of these files."""
        said = [("--same-file", self.same), ("--new-file", self.new)]
        return [
            f"{option} '{pattern}'"
            for option, patterns in said
            for pattern in patterns
            if not any(fnmatchcase(name, pattern) for name in names)
        ]


NOTHING = Declarations()
