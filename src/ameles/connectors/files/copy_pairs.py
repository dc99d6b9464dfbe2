"""Pairs each file that was truncated or is gone with its copy.

A copy can belong to a file only if it begins with everything that was taken of the file.  If
several copies and files fit each other, and there are as many copies as files, the pairing does not
matter: what is left to read is the content of the copies without what was taken of the files.  If
there are more copies than files, or fewer, the pairing matters unless they are all alike; if they
are not, no pairing can be certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from ameles.connectors.files.file_marks import Mark


class Copy(Protocol):
    """The content of a copy."""

    @property
    def whole(self) -> Mark:
        """The mark at its end."""

    def begins_with(self, mark: Mark) -> bool:
        """Whether it begins with what was taken of a file."""


AnyCopy = TypeVar("AnyCopy", bound=Copy)
Pairs = list[tuple[Mark, AnyCopy]]


def pairs_of(
    cut: Sequence[Mark], gone: Sequence[Mark], copies: Sequence[AnyCopy]
) -> tuple[Pairs[AnyCopy], AnyCopy | None]:
    """Files with their copies, and a copy that cannot be assigned, if there is one.

    A file that was ``cut`` must have a copy; a file that is ``gone`` may have one.
    """
    all_pairs: Pairs[AnyCopy] = []
    for marks, some in _groups([*cut, *gone], copies):
        needed = [mark for mark in marks if any(mark is one for one in cut)]
        others = [mark for mark in marks if not any(mark is one for one in cut)]
        pairs = _paired(needed, others, some)
        if pairs is None:
            return [], some[0]
        all_pairs += pairs
    return all_pairs, None


def _groups(
    marks: Sequence[Mark], copies: Sequence[AnyCopy]
) -> Iterator[tuple[list[Mark], list[AnyCopy]]]:
    """Marks and copies that fit each other, directly or through others."""
    fitting = [mark for mark in marks if any(copy.begins_with(mark) for copy in copies)]
    left = list(copies)
    while fitting:
        group, some = [fitting.pop(0)], list[AnyCopy]()
        for mark in group:  # the list grows meanwhile
            joined = [copy for copy in left if copy.begins_with(mark)]
            left = [copy for copy in left if not copy.begins_with(mark)]
            some += joined
            group += [one for one in fitting if any(copy.begins_with(one) for copy in joined)]
            fitting = [one for one in fitting if not any(copy.begins_with(one) for copy in joined)]
        yield group, some


def _paired(cut: list[Mark], gone: list[Mark], copies: list[AnyCopy]) -> Pairs[AnyCopy] | None:
    """Each mark of a group with a copy; None if the pairing matters and is not certain."""
    marks, enough = [*cut, *gone], len(copies)
    if len(marks) + enough > 2 and not all(mark.compared_whole for mark in marks):
        return None
    if enough > len(marks):
        if not all(copy.whole.same_content(copies[0].whole) for copy in copies):
            return None
    elif enough == len(cut):
        marks = cut
    elif enough > len(cut) and _alike(gone):
        marks = [*cut, *gone[: enough - len(cut)]]
    pairs: Pairs[AnyCopy] = []
    left = list(copies)
    for mark in sorted(marks, key=lambda mark: -mark.offset):  # a copy that fits, fits shorter ones
        place = next((n for n, copy in enumerate(left) if copy.begins_with(mark)), None)
        if place is None:
            return None
        pairs.append((mark, left.pop(place)))
    return pairs


def _alike(marks: Sequence[Mark]) -> bool:
    """Whether the same bytes were taken of all of them."""
    return all(mark.same_content(marks[0]) and mark.taken == marks[0].taken for mark in marks)
