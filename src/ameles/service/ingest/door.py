"""The way of posted batches into the engine, for one stream.

Usually a batch is read, then it waits in a queue of bounded size until it is stored.  If the state
may be seized, raw events must not wait anywhere: a request is not even read until those before it
are folded in and sealed.  Requests that have waited are then read and sealed together.  Whoever
sends a body slowly holds up nobody.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ameles.connectors.http_source import Batch, HttpSource, Outcome
from ameles.engine.following.arrivals import now
from ameles.service.ingest.first_lines import FirstLines
from ameles.service.refusals import Refused, busy

UNANSWERED = 1024  # batches that wait for their answer: this bounds how long one waits
TOGETHER = 64  # requests that are read at a time
WAITING = 256  # requests that wait unread
SECONDS_TO_READ = 5.0  # for a body
MOMENT = 0.05  # seconds that a fold waits for others, which are then sealed with it
SLOW = 0.25  # seconds after which a body may be refused for the sake of those who wait


class Door:
    """Takes batches of one stream, and waits for what becomes of them.

    ``clock`` says when a batch came, in microseconds since 1970, and is the one that ends steps.
    """

    def __init__(self, source: HttpSource, clock: Callable[[], int] = now) -> None:
        self._source = source
        self.now = clock
        self.first_lines = FirstLines()
        self._answers = _Answers()
        self._unanswered = 0

    @property
    def source(self) -> HttpSource:
        """Where the batches go."""
        return self._source

    @property
    def fill(self) -> float:
        """How full its queue is, from 0 to 1, rounded to a quarter: a few batches do not show."""
        return round(min(1.0, self._fill()) * 4) / 4

    def _fill(self) -> float:
        return self._source.fill

    async def take(self, read: Callable[[], Awaitable[Batch]], sender: str = "") -> Outcome:
        """Reads a batch of a sender, hands it over, and waits for its outcome.

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
    """A request that is not read yet, or not yet whole."""

    read: Callable[[], Awaitable[Batch]]
    sender: str
    outcome: asyncio.Future[Outcome] = field(repr=False)
    begun: float = 0.0  # when its reading began


class SealedDoor(Door):
    """Takes batches of a stream whose state may be seized, some requests at a time.

    Those that have come whole are folded, and whoever is still sending holds up nobody.  No other
    request is read meanwhile.  If so many bodies come slowly that others would have to wait, those
    of the sender with most of them are refused, the oldest first.  While steps wait to be released,
    nothing can be folded, and all requests are refused unread.
    """

    def __init__(
        self,
        source: HttpSource,
        clock: Callable[[], int] = now,
        behind: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(source, clock)
        self._behind = behind
        self._waiting: deque[_Waiting] = deque()
        # requests that are being read, the oldest first
        self._begun: dict[asyncio.Task[None], _Waiting] = {}
        self._looking: asyncio.TimerHandle | None = None  # for slow ones
        self._whole: list[tuple[_Waiting, Batch]] = []  # and those that have been
        self._folding: asyncio.Task[None] | None = None

    def _fill(self) -> float:
        return len(self._waiting) / WAITING

    async def take(self, read: Callable[[], Awaitable[Batch]], sender: str = "") -> Outcome:
        if len(self._waiting) >= WAITING:
            raise busy()
        if self._behind():
            raise releasing()
        waiting = _Waiting(read, sender, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._folding is None:
            self._begin()
        return await waiting.outcome

    def _begin(self) -> None:
        """Has some of those who wait read."""
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._begun) < TOGETHER:
            one = self._waiting.popleft()
            if self._behind():
                _fail(one, releasing())
            if not one.outcome.done():  # whoever waited may have gone
                one.begun = loop.time()
                task = loop.create_task(self._read(one))
                self._begun[task] = one
                task.add_done_callback(self._ended)
        if self._waiting and self._looking is None:
            self._looking = loop.call_later(SLOW, self._make_room, loop.time() + SLOW)

    def _make_room(self, planned: float) -> None:
        """Refuses slow bodies for the sake of those who wait, unless they wait for a fold.

        If this comes late, the loop was busy, and nobody was slow but itself.
        """
        self._looking = None
        now = asyncio.get_running_loop().time()
        if self._folding is None:
            if now < planned + SLOW:
                for _ in range(min(len(self._waiting), TOGETHER // 4)):
                    self._refuse_slowest(now - SLOW)
            self._begin()

    def _refuse_slowest(self, before: float) -> None:
        """Refuses the oldest body that began before, of the sender who has most of them."""
        slow = {task: one for task, one in self._begun.items() if one.begun <= before}
        if slow:
            most = Counter(one.sender for one in slow.values()).most_common(1)[0][0]
            task, one = next((task, one) for task, one in slow.items() if one.sender == most)
            del self._begun[task]
            _fail(one, too_slow())
            task.cancel()

    async def _read(self, one: _Waiting) -> None:
        batch = await _in_time(one)
        if batch is not None:
            self._whole.append((one, batch))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._begun.pop(task, None)
        if self._folding is not None:
            return
        if self._whole:
            self._folding = asyncio.get_running_loop().create_task(self._fold())
        else:
            self._begin()

    async def _fold(self) -> None:
        while self._whole:
            if self._begun:  # most of them have come whole, and are read in no time
                await asyncio.wait(self._begun, timeout=MOMENT)
            await self._seal()
            self._begin()
        self._folding = None

    async def _seal(self) -> None:
        """Has those that have come whole folded; what goes wrong with one harms no other."""
        some, self._whole = self._whole, []
        try:
            outcomes = await self._handed_over([batch for _, batch in some])
        except Exception as problem:
            for one, _ in some:
                _fail(one, problem)
            return
        for (one, _), outcome in zip(some, outcomes, strict=True):
            if not one.outcome.done():
                one.outcome.set_result(outcome)


async def _in_time(waiting: _Waiting) -> Batch | None:
    """The batch of a request, unless it is too slow, broken or gone."""
    try:
        return await asyncio.wait_for(waiting.read(), SECONDS_TO_READ)
    except TimeoutError:
        _fail(waiting, too_slow())
    except Exception as problem:  # its own request tells it
        _fail(waiting, problem)
    return None


def too_slow() -> Refused:
    """The refusal of a body that did not come in time."""
    return Refused(
        408, "The body came too slowly.", why="others wait for it", tip="a smaller batch"
    )


def releasing() -> Refused:
    """The refusal of a batch while steps that have ended wait to be released."""
    return Refused(
        503,
        "This stream takes no events now.",
        why="steps that have ended wait to be released",
        tip="try again later; if this lasts, longer steps or a faster disk",
        headers={"Retry-After": "1"},
    )


def _fail(waiting: _Waiting, problem: Exception) -> None:
    if not waiting.outcome.done():
        waiting.outcome.set_exception(problem)
