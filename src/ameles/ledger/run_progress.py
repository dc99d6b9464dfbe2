"""How far the runs of a ledger have come: a released step is never released again.

A ledger remembers the progress of each run it sold, also when the run itself is gone.  A run is
resumed from its newest snapshot, and once from each: a second resumption would draw other noise for
steps that may have been published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.progress import Progress
from ameles.mechanisms.run import LiveRun, Run, live_runs


class RunProgress:
    """The steps that the runs of one ledger have reached, and those they were resumed from."""

    def __init__(self, stored: Mapping[str, int]) -> None:
        self._stored = dict(stored)
        self._resumed: dict[str, int] = {}
        self._sold: dict[str, Progress] = {}

    def watch(self, run: Run[Any, Any]) -> None:
        """Remembers how far a run goes, also when the run itself is gone."""
        self._sold[run.id] = run.progress

    def still(self, run: str, live: Iterable[LiveRun]) -> ExitStack:
        """Prevents every run of this identity from releasing anything meanwhile."""
        held = ExitStack()
        # All threads take these locks in one order, so that no two wait for each other.
        for progress in sorted(self._of(run, live), key=id):
            held.enter_context(progress.still())
        return held

    def stored(self, run: str) -> int:
        """The step of a run in the store that its ledger was restored from; 0 if there is none."""
        return self._stored.get(run, 0)

    def reached(self, run: str) -> int:
        """The last step that a run of this identity has released, as far as this process knows."""
        steps = [progress.step for progress in self._of(run, live_runs(run))]
        return max([self.stored(run), *steps])

    def check_once(self, run: str, step: int) -> None:
        """Refuses a second resumption from the same snapshot or an earlier one."""
        if step <= self._resumed.get(run, -1):
            raise StoreRefused(
                f"The run was already resumed from step {self._resumed[run]} or later.",
                why="it may have released steps after this snapshot, with other noise",
                tip="the newest snapshot of the run that is going on",
            )

    def resume(self, run: Run[Any, Any], step: int) -> None:
        """Watches a run that was resumed from the snapshot of this step."""
        self._resumed[run.id] = step
        self.watch(run)

    def _of(self, run: str, live: Iterable[LiveRun]) -> set[Progress]:
        """The progress of all runs of this identity, including those that are gone."""
        sold = self._sold.get(run)
        return {one.progress for one in live} | ({sold} if sold is not None else set())


def check_newest(step: int, reached: int) -> None:
    """Refuses a snapshot from before the last step that was released."""
    if step < reached:
        raise StoreRefused(
            f"This snapshot is of step {step}; the run has gone on to step {reached}.",
            why="the steps in between were released, and would be again with other noise",
            tip="the newest snapshot of the run",
        )
