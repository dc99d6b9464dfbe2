"""The run of a release whose state may be seized."""

from __future__ import annotations

from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.run import Run
from ameles.mechanisms.stepped import FoldedRun


def folded(run: Run[Any, Any]) -> FoldedRun[Any, Any]:
    """The run as one that folds events on arrival; a state that may be seized needs such a run."""
    if not isinstance(run, FoldedRun):
        raise StoreRefused(
            "The store has a mechanism for this stream that does not protect its state.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )
    return run
