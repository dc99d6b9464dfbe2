"""A store that may be away when the service starts, and later: one thread waits for it.

While it is away, everything else is refused at once.  A connection to a machine that does not
answer takes seconds to fail, and requests that waited so long would hold up those about other
stores.

>>> store = ServedStore("postgresql://127.0.0.1:1/flu", create=False)
>>> store.open()
>>> store.away, str(store.problem).splitlines()[0]
(True, "error[store]: The store 'postgresql://127.0.0.1:1/flu' cannot be reached.")
>>> store.close()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, StoreAway, Transaction, exists, open_store

FIRST_PAUSE = 1.0  # seconds until the next attempt; then twice as many
LONGEST_PAUSE = 60.0
T = TypeVar("T")


class ServedStore(Store):
    """The store at an address, as soon as it can be used; ``create`` makes a new one if there is
    none."""

    def __init__(
        self, url: str, *, create: bool, opening: Callable[..., Store] = open_store
    ) -> None:
        self._url = url
        self._create = create
        self._opening = opening
        self._store: Store | None = None
        self._problem: StoreRefused | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._waiting = False  # whether a thread waits for the store
        self._exists = True
        self._returned: list[Callable[[], None]] = []

    @property
    def problem(self) -> StoreRefused | None:
        """Why it cannot be used now; a new exception each time, because one collects its traces."""
        known = self._problem
        return known and type(known)(known.what, why=known.why, tip=known.tip)

    @property
    def away(self) -> bool:
        return self._problem is not None

    @property
    def missing(self) -> bool:
        """Whether there is none, and somebody else has to make it."""
        return self.away and not self._exists

    @property
    def opened(self) -> bool:
        """Whether it was opened."""
        return self._store is not None

    def open(self, *, create: bool = False) -> None:
        """Opens it, or notes why that is not possible and goes on trying in a thread."""
        self._create = self._create or create
        try:
            self._try()
        except StoreRefused as problem:
            self._lost(problem)

    def open_existing(self) -> None:
        """The same, if there is a store."""
        try:
            self._exists = exists(self._url)
        except StoreRefused as problem:
            self._lost(problem)
        else:
            if self._exists:
                self.open()

    def when_back(self, told: Callable[[], None]) -> None:
        """Has something called, from another thread, each time that the store is back."""
        self._returned.append(told)

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._used(lambda store: store.writing())

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._used(lambda store: store.reading())

    def holding(self, name: str) -> AbstractContextManager[None]:
        return self._used(lambda store: store.holding(name))

    def merging_aside(self) -> AbstractContextManager[None]:
        return self._used(lambda store: store.merging_aside())

    def held(self, name: str) -> bool:
        return self._present().held(name)

    @property
    def lost_locks(self) -> bool:
        return self._store is not None and self._store.lost_locks

    def check(self) -> None:
        self._present().check()

    def copy_into(self, path: Path) -> None:
        self._present().copy_into(path)

    def shrink(self) -> None:
        self._present().shrink()

    def scrub(self) -> str:
        return self._present().scrub()

    def close(self) -> None:
        """Closes the store; nothing waits for it any more."""
        with self._lock:
            self._closed.set()
            if self._store is not None:
                self._store.close()

    def _present(self) -> Store:
        if (problem := self.problem) is not None:
            raise problem
        if self._store is None:
            raise AssertionError("a store is opened before it is used")
        return self._store

    @contextmanager
    def _used(self, use: Callable[[Store], AbstractContextManager[T]]) -> Iterator[T]:
        try:
            with use(self._present()) as used:
                yield used
        except StoreAway as problem:
            self._lost(problem)
            raise

    def _try(self) -> None:
        """Opens the store, or looks whether it answers."""
        if self._store is not None:
            with self._store.reading():
                return
        store = self._opening(self._url, create=self._create)
        with self._lock:
            if not self._closed.is_set():
                self._store, self._exists = store, True
                return
        store.close()

    def _lost(self, problem: StoreRefused) -> None:
        """Notes why the store cannot be used, and has a thread wait for it."""
        with self._lock:
            self._problem = problem.with_traceback(None)
            if self._waiting or self._closed.is_set():
                return
            self._waiting = True
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        pause = 0.0 if self._store is not None else FIRST_PAUSE
        while not self._closed.wait(pause):
            try:
                self._try()
            except Exception as problem:  # whatever it is, somebody must go on trying
                if isinstance(problem, StoreRefused):
                    self._problem = problem.with_traceback(None)
            else:
                with self._lock:
                    self._problem, self._waiting = None, False
                for told in self._returned:
                    told()
                return
            pause = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)
