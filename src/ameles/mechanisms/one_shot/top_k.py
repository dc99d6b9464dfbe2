"""The shared part of the two mechanisms that list the top k."""

from __future__ import annotations

from ameles.core.exceptions import BadInput


def check_k(k: int, candidates: int) -> None:
    """Refuses a list that is longer than the list of candidates."""
    if k > candidates:
        raise BadInput(
            f"The 'k' parameter must be at most the number of candidates, {candidates}. "
            f"Got {k} instead."
        )
