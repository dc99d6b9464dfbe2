"""The run of a release whose state may be seized."""

from __future__ import annotations

from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.run import Run
from ameles.mechanisms.stepped import FoldedRun


def folded(run: Run[Any, Any]) -> FoldedRun[Any, Any]:
    """A run of a stream whose state may be seized: it takes events as they arrive."""
    if not isinstance(run, FoldedRun):
        raise StoreRefused(
            "The store has a mechanism for this stream whose state cannot be seized without loss.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )
    return run
