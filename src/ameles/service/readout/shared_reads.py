"""Reads that many live readers share: all of them ask for the same new step at the same moment.

What was read after a place stays true for ever, so it can be given to the next who asks; it is only
not everything once there is more, and who asks goes on from its end.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

T = TypeVar("T")
KEPT = 32


class SharedReads(Generic[T]):
    """The last reads by what was asked, and those that are under way; of one event loop."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._reads: OrderedDict[Hashable, asyncio.Task[T]] = OrderedDict()

    async def read(self, asked: Hashable, how: Callable[[], T], keep: Callable[[T], bool]) -> T:
        """What somebody else has just read, or what ``how`` reads in a thread now."""
        task = self._reads.get(asked)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(how))
            self._reads[asked] = task
            task.add_done_callback(lambda done: self._done(asked, done, keep))
            while len(self._reads) > self._kept:
                self._reads.popitem(last=False)
        return await asyncio.shield(task)

    def _done(self, asked: Hashable, task: asyncio.Task[T], keep: Callable[[T], bool]) -> None:
        failed = task.cancelled() or task.exception() is not None
        if (failed or not keep(task.result())) and self._reads.get(asked) is task:
            del self._reads[asked]
