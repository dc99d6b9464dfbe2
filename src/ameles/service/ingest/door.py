"""The way of posted batches into the engine, for one stream.

Usually a batch is read, then it waits in a queue of bounded size until it is stored.  If the state
may be seized, raw events must not wait anywhere: a request is not even read until those before it
are folded in and sealed.  Requests that have waited are then read and sealed together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ameles.connectors.http_source import Batch, HttpSource, Outcome
from ameles.service.refusals import Refused, busy

UNANSWERED = 512  # batches that wait for their answer: this bounds how long one waits
TOGETHER = 64  # requests that are sealed together
WAITING = 256  # requests that wait unread
SECONDS_TO_READ = 5.0  # for the bodies of those that are sealed together


class Door:
    """Takes batches of one stream, and waits for what becomes of them."""

    def __init__(self, source: HttpSource) -> None:
        self._source = source
        self._answers = _Answers()
        self._unanswered = 0

    @property
    def source(self) -> HttpSource:
        """Where the batches go."""
        return self._source

    async def take(self, read: Callable[[], Awaitable[Batch]]) -> Outcome:
        """Reads a batch, hands it over, and waits for its outcome.

        If too much waits already it is refused unread, so that a refusal costs little.
        """
        if self._unanswered >= UNANSWERED or self._source.full:
            raise busy()
        batch = await read()
        self._unanswered += 1
        try:
            (outcome,) = await self._handed_over([batch])
        finally:
            self._unanswered -= 1
        return outcome

    async def _handed_over(self, batches: Sequence[Batch]) -> Sequence[Outcome]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[Outcome]] = loop.create_future()
        if not self._source.hand_over(batches, partial(self._answers.put, answer)):
            raise busy()
        return await answer


class _Answers:
    """Brings answers from the thread of the engine to those who wait in the event loop.

    Waking a loop costs more than an answer, so all that come until it is awake are told at once.
    """

    def __init__(self) -> None:
        self._untold: deque[tuple[asyncio.Future[Sequence[Outcome]], Sequence[Outcome]]] = deque()
        self._waking = False

    def put(self, answer: asyncio.Future[Sequence[Outcome]], outcomes: Sequence[Outcome]) -> None:
        """Answers soon; from any thread."""
        self._untold.append((answer, outcomes))
        if not self._waking:
            self._waking = True
            try:
                answer.get_loop().call_soon_threadsafe(self._tell)
            except RuntimeError:  # the server has ended
                self._waking = False

    def _tell(self) -> None:
        self._waking = False  # first: what is put from now on wakes the loop again
        while self._untold:
            answer, outcomes = self._untold.popleft()
            if not answer.done():  # whoever waited may have gone
                answer.set_result(outcomes)


@dataclass(slots=True)
class _Waiting:
    """A request that is not read yet."""

    read: Callable[[], Awaitable[Batch]]
    outcome: asyncio.Future[Outcome] = field(repr=False)


class SealedDoor(Door):
    """Takes batches of a stream whose state may be seized, some requests at a time."""

    def __init__(self, source: HttpSource) -> None:
        super().__init__(source)
        self._waiting: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None

    async def take(self, read: Callable[[], Awaitable[Batch]]) -> Outcome:
        if len(self._waiting) >= WAITING:
            raise busy()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(read, loop.create_future())
        self._waiting.append(waiting)
        if self._working is None or self._working.done():
            self._working = loop.create_task(self._work())
        return await waiting.outcome

    async def _work(self) -> None:
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            await self._seal([one for one in some if not one.outcome.done()])

    async def _seal(self, group: Sequence[_Waiting]) -> None:
        """Reads the requests of a group and has them folded; a bad one harms no other."""
        read = await asyncio.gather(*(_in_time(one) for one in group))
        taken = [(one, batch) for one, batch in zip(group, read, strict=True) if batch is not None]
        try:
            outcomes = await self._handed_over([batch for _, batch in taken]) if taken else []
        except Refused as refusal:
            for one, _ in taken:
                _fail(one, refusal)
            return
        for (one, _), outcome in zip(taken, outcomes, strict=True):
            if not one.outcome.done():
                one.outcome.set_result(outcome)


async def _in_time(waiting: _Waiting) -> Batch | None:
    """The batch of a request, unless it is too slow, broken or gone."""
    try:
        return await asyncio.wait_for(waiting.read(), SECONDS_TO_READ)
    except TimeoutError:
        _fail(waiting, Refused(408, "The body came too slowly.", tip="a smaller batch"))
    except Exception as problem:  # its own request tells it
        _fail(waiting, problem)
    return None


def _fail(waiting: _Waiting, problem: Exception) -> None:
    if not waiting.outcome.done():
        waiting.outcome.set_exception(problem)
