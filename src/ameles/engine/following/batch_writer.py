"""Stores batches as they come, so that their senders get an answer at once.

It runs in a thread of its own, because counting and releasing take longer than a sender wants to
wait.  Batches that came together are stored in one transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from ameles.connectors.http_source import Batch, Handed, HttpSource, Outcome
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction
from ameles.store.batches import NewBatch

# Seconds between looks at whether to stop.
PATIENCE = 0.25
# No batch is taken while this many bytes wait to be counted: counting must have stopped.
MOST_WAITING = 256 << 20


class BatchWriter:
    """Decides about each batch of a stream that keeps its state in the store."""

    def __init__(
        self, plan: Plan, store: Store, stream: StreamRecord, source: HttpSource, waiting: int
    ) -> None:
        """``waiting`` is how many bytes are stored and not counted yet."""
        self._plan = plan
        self._store = store
        self._stream = stream
        self._source = source
        self._lock = threading.Lock()
        self._waiting = waiting

    @property
    def waiting(self) -> int:
        """How many bytes are stored and not counted."""
        return self._waiting

    def counted(self, size: int) -> None:
        """Says that this many bytes were counted."""
        with self._lock:
            self._waiting -= size

    @contextmanager
    def running(self) -> Iterator[None]:
        """Stores batches inside the block; what waits at its end is stored before it ends."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._source.close()
            stop.set()
            thread.join()

    def close_step(self, step: int) -> None:
        """Takes no more batches for this step and earlier ones.

        Those that were handed over before are stored when it returns.  It raises what the store
        refuses: the thread that stores batches goes on.
        """
        done: Future[None] = Future()

        def close() -> None:
            try:
                with self._store.writing() as transaction:
                    transaction.close_intake(self._stream, step)
            except BaseException as problem:
                done.set_exception(problem)
            else:
                done.set_result(None)

        self._source.after_those(close)
        done.result()

    def _run(self, stop: threading.Event) -> None:
        while True:
            groups, then = self._source.waiting(PATIENCE)
            if groups:
                self._answer(groups)
            if then is not None:
                then()
            elif not groups and stop.is_set():
                return
            groups, then = [], None  # keep no batch while waiting for the next

    def _answer(self, groups: Sequence[Handed]) -> None:
        batches = [batch for group in groups for batch in group.batches]
        try:
            outcomes = self._stored(batches)
        except Exception:  # a full disk, for example: nobody waits for ever, and all may try again
            outcomes = [Outcome.UNKNOWN] * len(batches)
        for group in groups:
            count = len(group.batches)
            group.answer(outcomes[:count])
            outcomes = outcomes[count:]

    def _stored(self, batches: Sequence[Batch]) -> list[Outcome]:
        with self._store.writing() as transaction:
            outcomes, new = self._decided(transaction, batches)
            transaction.add_batches(self._stream, new)
        with self._lock:
            self._waiting += sum(len(batch.lines) for batch in new)
        return outcomes

    def _decided(
        self, transaction: Transaction, batches: Sequence[Batch]
    ) -> tuple[list[Outcome], list[NewBatch]]:
        """An outcome for each batch, and those to store: once each, in steps that never go back."""
        earliest = transaction.open_step(self._stream)
        outcomes = list[Outcome]()
        for batch in batches:
            step = max(earliest, self._open_step(batch.at))
            if self._plan.stream.horizon is not None and step > self._plan.stream.horizon:
                outcomes.append(Outcome.ENDED)
            elif batch.step != step:
                outcomes.append(Outcome.CLOSED)
            elif self._waiting > MOST_WAITING:
                outcomes.append(Outcome.FULL)
            else:
                outcomes.append(Outcome.COUNTED)
                earliest = step
        asked: dict[int, dict[bytes, Batch]] = {}
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome is Outcome.COUNTED:
                asked.setdefault(batch.step, {}).setdefault(batch.digest, batch)
        new = list[NewBatch]()
        for step, some in asked.items():
            known = transaction.counted_batches(self._stream, step, list(some))
            new += [
                NewBatch(batch.digest, step, batch.form, batch.lines)
                for digest, batch in some.items()
                if digest not in known
            ]
        return outcomes, new

    def _open_step(self, at: int) -> int:
        return self._plan.clock.ended(at - self._plan.stream.grace_us) + 1


def open_step(plan: Plan, released: int, now: Callable[[], int]) -> int | None:
    """The step that batches must name now; None if the stream is over."""
    step = max(released, plan.clock.ended(now() - plan.stream.grace_us)) + 1
    horizon = plan.stream.horizon
    return None if horizon is not None and step > horizon else step
