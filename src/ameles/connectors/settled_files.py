"""What is said of files while other programs rename, cut and write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ameles.connectors.file_identity import Present, Signature
from ameles.core.exceptions import AmelesError

LOOKS = 10  # how often files are looked at that change meanwhile

Outcome = TypeVar("Outcome")


def settled(look: Callable[[], list[Present]], work: Callable[[list[Present]], Outcome]) -> Outcome:
    """What is said of files that hold still: those that change meanwhile are listed again."""
    for _ in range(LOOKS):
        files = look()
        try:
            return work(files)
        except AmelesError as refusal:
            problem = refusal
        if _listing(files) == _listing(look()):
            break
    raise problem


def _listing(files: list[Present]) -> set[tuple[Signature, str]]:
    return {(file.signature, link.name) for file in files for link in file.links}
