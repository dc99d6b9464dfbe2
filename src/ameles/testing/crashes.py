"""Crashes on request: the exception, and a store that crashes around the commit of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ameles.store import Store, Transaction


class Crash(BaseException):
    """Stands for the end of the process: only the test handles it.

    ``PlanTest.crash`` handles it for you.

    >>> try:
    ...     raise Crash
    ... except Exception:
    ...     print("an error that a program handles")
    ... except Crash:
    ...     print("a crash")
    a crash
    """

    def __init__(self) -> None:
        super().__init__("A crash that the test asked for.")


class CrashingStore(Store):
    """A store whose process crashes around the commit that releases a step.

    Step 0 is the launch of the stream.  ``before`` the commit, the transaction is lost; after it,
    the step is stored but not published.
    """

    def __init__(self, store: Store, stream: str, step: int, *, before: bool) -> None:
        self._store = store
        self._stream = stream
        self._step = step
        self._before = before

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._store.writing() as transaction:
            yield transaction
            due = self._released(transaction) >= self._step
            if due and self._before:
                raise Crash
        if due:
            raise Crash

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._store.reading()

    def holding(self, stream: str) -> AbstractContextManager[None]:
        return self._store.holding(stream)

    def held(self, stream: str) -> bool:
        return self._store.held(stream)

    def check(self) -> None:
        self._store.check()

    def copy_into(self, path: Path) -> None:
        self._store.copy_into(path)

    def shrink(self) -> None:
        self._store.shrink()

    def scrub(self) -> str:
        return self._store.scrub()

    def close(self) -> None:
        self._store.close()

    def _released(self, transaction: Transaction) -> int:
        """The last released step; -1 before the launch."""
        stream = transaction.stream(self._stream)
        return -1 if stream is None else stream.released
