"""The feed: wakes those who wait for news of a stream, and ends them when the service ends.

The threads that follow streams tell the news; those who wait are tasks of one event loop.  Nothing
is queued for anybody: who is woken reads what is new from his own place on.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter


class Feed:
    """News by stream: a number that grows, and an event for those who wait for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, asyncio.Event] = {}
        self._closed = False

    def tell(self, stream: str) -> None:
        """Says that there is something new; from any thread."""
        with self._lock:
            self._news[stream] += 1
            loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, stream)

    def close(self) -> None:
        """Ends all waiting, for ever; from any thread."""
        self._closed = True
        for stream in list(self._waiting):
            self.tell(stream)

    @property
    def closed(self) -> bool:
        """Whether the service is ending."""
        return self._closed

    def news(self, stream: str) -> int:
        """How often there was something new."""
        return self._news[stream]

    async def wait(self, stream: str, seen: int, seconds: float) -> bool:
        """Waits until there is more than was seen; False if that takes too long."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
            event = self._waiting.setdefault(stream, asyncio.Event())
            if self._news[stream] != seen or self._closed:
                return True
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def _wake(self, stream: str) -> None:
        event = self._waiting.pop(stream, None)
        if event is not None:
            event.set()
