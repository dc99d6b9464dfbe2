"""Stores batches as they come, so that their senders get an answer at once.

It runs in a thread of its own, because counting and releasing take longer than a sender wants to
wait.  Batches that came together are stored in one transaction.  The same transaction deletes some
that were counted: the new ones then take their place, so that half as much is written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from hashlib import blake2b

from ameles.connectors.http_source import Batch, Handed, HttpSource, Outcome
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction
from ameles.store.batches import NewBatch

# Seconds between looks at whether to stop.
PATIENCE = 0.25
# No batch is taken while this many bytes wait to be counted: counting must have stopped.
MOST_WAITING = 256 << 20
# How many rows are deleted at a time.
FEW = 64


class BatchWriter:
    """Decides about each batch of a stream that keeps its state in the store."""

    def __init__(self, plan: Plan, store: Store, stream: StreamRecord, source: HttpSource) -> None:
        self._plan = plan
        self._store = store
        self._stream = stream
        self._source = source
        self._lock = threading.Lock()
        self._waiting = 0
        self.failing = False  # whether the store refused the last batches
        self._counted = stream, 0  # the stream then, and the number of the last one
        self._left = False  # whether something that was counted may not be deleted yet

    @property
    def waiting(self) -> int:
        """How many bytes are stored and not counted."""
        return self._waiting

    def begin(self) -> None:
        """Refuses what names a released step, and finds out what waits to be counted."""
        with self._store.writing() as transaction:
            transaction.close_intake(self._stream, self._stream.released)
            self._waiting = transaction.waiting_bytes(self._stream)

    def counted(self, stream: StreamRecord, number: int, size: int = 0) -> None:
        """Says that batches up to this number were counted, the last of them with so many bytes."""
        with self._lock:
            self._waiting -= size
            self._counted = stream, number
            self._left = True

    def forget(self) -> None:
        """Deletes all that were counted, a few at a time: whoever stores new ones must not wait."""
        while self._left:
            with self._store.writing() as transaction:
                all_of = self._forget_some(transaction)
            self._forgot(all_of)

    def _forget_some(self, transaction: Transaction) -> tuple[StreamRecord, int] | None:
        """Deletes a few; if none is left, returns which those were."""
        counted = stream, number = self._counted
        more = transaction.forget_batches(stream, counted=number, most=FEW)
        return None if more else counted

    def _forgot(self, all_of: tuple[StreamRecord, int] | None) -> None:
        with self._lock:  # more may have been counted meanwhile
            self._left = self._left and self._counted is not all_of

    @contextmanager
    def running(self) -> Iterator[None]:
        """Stores batches inside the block; what was not begun at its end is not stored."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over = self._counted[0].released == self._plan.stream.horizon
            self._source.close(Outcome.ENDED if over else Outcome.UNKNOWN)
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
            self.failing = False
        except Exception:  # a full disk, for example: nobody waits for ever, and all may try again
            outcomes = [Outcome.UNKNOWN] * len(batches)
            self.failing = True
        for group in groups:
            count = len(group.batches)
            group.answer(outcomes[:count])
            outcomes = outcomes[count:]

    def _stored(self, batches: Sequence[Batch]) -> list[Outcome]:
        with self._store.writing() as transaction:
            outcomes, new = self._decided(transaction, batches)
            all_of = self._forget_some(transaction) if self._left else None
            transaction.add_batches(self._stream, new)
        self._forgot(all_of)
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
        asked: dict[int, dict[int, bytes]] = {}  # by step: the places of batches, and their bodies
        for place, (batch, outcome) in enumerate(zip(batches, outcomes, strict=True)):
            if outcome is Outcome.COUNTED:
                asked.setdefault(batch.step, {})[place] = body_digest(self._stream.salt, batch)
        new = list[NewBatch]()
        for step, bodies in asked.items():
            ids = {batches[place].digest for place in bodies}
            some = [*ids, *set(bodies.values())]
            known = set(transaction.counted_batches(self._stream, step, some))
            for place, body in bodies.items():
                batch = batches[place]
                if batch.digest not in known:
                    known |= {batch.digest, body}
                    new.append(NewBatch(batch.digest, body, step, batch.form, batch.lines))
                elif body not in known:
                    outcomes[place] = Outcome.REUSED
        return outcomes, new

    def _open_step(self, at: int) -> int:
        return self._plan.clock.ended(at - self._plan.stream.grace_us) + 1


def body_digest(salt: bytes, batch: Batch) -> bytes:
    """What is stored about the body of a batch: a digest of its id and its lines, under the secret
    of the stream."""
    digest = blake2b(batch.digest, digest_size=16, key=salt)
    digest.update(f"{len(batch.form)}:{batch.form}:".encode())
    digest.update(batch.lines)
    return digest.digest()


def open_step(plan: Plan, released: int, now: Callable[[], int]) -> int | None:
    """The step that batches must name now; None if the stream is over."""
    step = max(released, plan.clock.ended(now() - plan.stream.grace_us)) + 1
    horizon = plan.stream.horizon
    return None if horizon is not None and step > horizon else step
