"""A service over a socket whose streams release when a test says so; it can end and come back."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from ameles.service.log import Log
from ameles.service.published import Shown
from ameles.service.server import listening, run_server
from ameles.service.views import State
from ameles.store import open_store
from ameles.store.tokens import Scope
from tests.engine.worlds import World, row
from tests.service.small_service import Small, described, plan_of, released, small, world

LIMIT = 600.0


class Served:
    """Streams in one store, shown at an address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self.store = self._stack.enter_context(closing(open_store(str(folder / "s.db"))))
        self.worlds: dict[str, World] = {}
        self._shown: dict[str, Shown] = {}
        self.doing: dict[str, State] = {}
        self._port = 0
        self._running: ExitStack | None = None
        self.small: Small

    def close(self) -> None:
        self.end()
        self._stack.close()

    def add(self, made: World, name: str, *, until: int) -> None:
        """A further stream, released up to a day; before the service begins."""
        self.worlds[name] = made
        fresh = Shown(plan_of(made), self.store)
        self._shown[name] = described(released(made, self.store, until)) if until else fresh

    def show(self, shown: Shown) -> None:
        """A further stream in the store of this service; before the service begins."""
        self._shown[shown.plan.stream.name] = shown

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def begin(self) -> None:
        """Begins to serve, always at the same address."""
        self._running = ExitStack()
        shown = list(self._shown.values())
        self.small = self._running.enter_context(small(shown, doing=self._doing))
        opened = self._running.enter_context(closing(listening(f"127.0.0.1:{self._port}")))
        self._port = opened.getsockname()[1]
        self._running.enter_context(_serving(self.small, opened))

    def end(self) -> None:
        """Ends to serve; readers are disconnected."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def _doing(self, name: str) -> State:
        return self.doing.get(name, State.RUNNING)

    def become(self, name: str, state: State) -> None:
        """What the thread of a stream does from now on."""
        self.doing[name] = state
        self.small.feed.tell(name)

    def release(self, name: str, until: int) -> None:
        """Releases the days of a stream up to one, as its thread would."""
        self._shown[name] = described(released(self.worlds[name], self.store, until))
        self.small.feed.tell(name)

    def token(self, scope: Scope, name: str) -> str:
        """A new token of a stream."""
        return self.small.token(scope, name)

    def stored(self, name: str, *, release: str | None = None, key: str | None = None) -> list[Any]:
        """What the store has of a stream, row by row."""
        with self.store.reading() as transaction:
            stream = transaction.stream(name)
            assert stream is not None
            return list(transaction.releases(stream, release=release, key=key))


@contextmanager
def _serving(made: Small, opened: socket.socket) -> Iterator[None]:
    stop, log = threading.Event(), Log(io.StringIO())
    arguments = (made.client.app, opened, log, stop, made.feed.close)
    thread = threading.Thread(target=run_server, args=arguments)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(LIMIT)


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\u202edesrever",
    "\"quoted\" & 'single'",
    "</script><script>alert(1)</script>",
    "long " * 40,
    "\U0001f600 \U0001f469\u200d\U0001f680",
    "javascript:alert(1)",
)


FURTHER = """
[[release]]
name = "bins"
measure = "histogram"
column = "age"
edges = [0, 22, 24, 100]
[[release]]
name = "first"
measure = "top"
over = "step"
k = 2
by = { region = ["north", "south", "east"] }
[[release]]
name = "alarm"
measure = "alert"
over = "step"
threshold = 5
times = 2
"""


def season(folder: Path) -> Served:
    """Streams 'open' (public, with releases of all kinds, one with hostile keys), and 'closed'."""
    keys = ", ".join(json.dumps(key, ensure_ascii=False) for key in HOSTILE)
    odd = f'[[release]]\nname = "odd"\nmeasure = "count"\nby = {{ who = [{keys}] }}\n'
    made = Served(folder)
    made.add(world(folder / "open", "open", public=True, more=odd + FURTHER), "open", until=5)
    made.add(world(folder / "closed", "closed"), "closed", until=5)
    made.begin()
    return made


def one_stream(folder: Path, until: int = 1) -> Served:
    """The public stream 'open' alone."""
    made = Served(folder)
    made.add(world(folder / "open", "open", public=True), "open", until=until)
    made.begin()
    return made


def long_stream(folder: Path, releases: int, steps: int) -> Served:
    """The public stream 'open' with many releases of many steps, each for two keys."""
    keys = 'by = { region = ["north", "south"] }'
    texts = (f'[[release]]\nname = "r{n}"\nmeasure = "count"\n{keys}\n' for n in range(releases))
    made, rest = Served(folder), "[serve]\npublic = true\n"
    large = World(folder / "open", "".join(texts), horizon=steps, epsilon="100", rest=rest)
    large.text = large.text.replace('name = "s"', 'name = "open"', 1)
    large.write(row(n % steps + 1) for n in range(10 * steps))
    made.add(large, "open", until=steps)
    made.begin()
    return made
