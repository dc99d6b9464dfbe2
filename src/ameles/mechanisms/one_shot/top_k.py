"""What the two ways to list the top k share."""

from __future__ import annotations

from ameles.core.exceptions import BadInput


def check_k(k: int, candidates: int) -> None:
    """Refuses a list that is longer than there are candidates."""
    if k > candidates:
        raise BadInput(
            f"The 'k' parameter must be at most the number of candidates, {candidates}. "
            f"Got {k} instead."
        )
