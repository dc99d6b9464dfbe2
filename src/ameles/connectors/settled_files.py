"""Works on files while other programs rename, truncate and write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ameles.connectors.file_identity import Present, Signature
from ameles.core.exceptions import AmelesError

LOOKS = 10  # tries, if files change meanwhile

Outcome = TypeVar("Outcome")


def settled(look: Callable[[], list[Present]], work: Callable[[list[Present]], Outcome]) -> Outcome:
    """The outcome of ``work`` on files that did not change meanwhile; if they did, it is retried
    with a new listing."""
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
