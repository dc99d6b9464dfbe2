"""One sink of a stream: open if that is possible, with the reason of its last failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

from ameles.connectors.sink import Row, Sink
from ameles.connectors.sinks import open_sink
from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction


class StreamSink:
    """A sink that may fail; ``failed`` has the reason until the sink works again.

    ``open_it`` opens the sink, once at first and again after a failure.
    """

    def __init__(self, name: str, open_it: Callable[[], Sink]) -> None:
        self.name = name
        self.sink: Sink | None = None
        self.failed: AmelesError | None = None
        self._open_sink = open_it
        self._recorded = 0  # a step that the sink has had according to the store
        self._open()

    @classmethod
    def of(
        cls,
        plan: Plan,
        identity: UUID,
        kind: str,
        target: str,
        settings: Mapping[str, str] | None = None,
    ) -> StreamSink:
        """A sink that the plan names."""
        whose = {"stream": plan.stream.name, "identity": str(identity)}
        sparse = not any(release.keys for release in plan.releases)
        return cls(
            f"{kind}:{target}",
            lambda: open_sink(kind, target, plan.base, settings=settings, sparse=sparse, **whose),
        )

    def expect(self, step: int) -> None:
        """The store has sent it this step: if it has neither file nor note, the sink is lost."""
        self._recorded = step
        if self.sink is not None and self.sink.knows and step and not self.sink.last():
            self.sink = None
            self.failed = StoreRefused(
                f"The sink {self.name} was written before, but it and its note are missing.",
                why="the note says whether this store is the newest; without it, an old backup "
                "would publish other numbers for the same steps",
                tip="mount its disk, if it is on one that is not mounted; or put the note back, "
                "from wherever the sink was copied to. If the store is certainly the newest, "
                "give the sink another name in the plan: it gets all releases",
            )

    @property
    def last(self) -> int | None:
        """The last step that it has; None if unknown."""
        return self.sink.last() if self.sink is not None and self.sink.knows else None

    def check_fence(self, released: int) -> None:
        """Refuses a store that is older than what it published."""
        has = self.last
        if has is not None and has > released:
            raise self.older(has, released)

    def check_same(self, transaction: Transaction, stream: StreamRecord) -> None:
        """Refuses a store that has other numbers than its sink: two copies of it release."""
        sink = self.sink
        if sink is None or not sink.knows:
            return
        if not sink.agrees(lambda step: transaction.release_rows(stream, first=step, last=step)):
            raise StoreRefused(
                f"The sink {self.name} has other numbers for step {sink.last()} than the store.",
                why="another copy of the store has published, or the store was changed; two noises "
                "around one number reveal more than was paid for",
                tip="the copy of the store that has published; let no other run",
            )

    def older(self, has: int, released: int) -> StoreRefused:
        """The refusal of a store that has released less than its sink has."""
        return StoreRefused(
            f"The sink {self.name} has step {has}; the store has released {released}.",
            why="the store is older than what it published, such as a restored backup, and "
            "would publish other numbers for the same steps",
            tip="the newest copy of the store. If it is that one, somebody has added to the "
            "sink: put that right, and keep its note",
        )

    @property
    def lost(self) -> bool:
        """Whether it has failed, and cannot work again in this process."""
        return self.failed is not None and self.sink is not None and not self.sink.heals

    def publish(self, store: Store, stream: StreamRecord) -> None:
        """Sends it the steps that it lacks; a failure here does not stop other sinks.

        A sink that failed or was changed is opened again: its disk may be another one by now, or
        missing.
        """
        stood = self._stands
        if not stood:
            self._open()
            self.expect(self._recorded)
        if self.sink is None:
            return
        self.check_fence(stream.released)
        rows = _Rows()
        with store.reading() as transaction:
            if not stood:  # somebody else may have written to it
                self.check_same(transaction, stream)
            sent = 0 if self.sink.knows else transaction.sent(stream, self.name)
            try:
                first = self.sink.first_needed(sent)
                if first <= stream.released:
                    rows.source = transaction.release_rows(stream, first=first)
                    self.sink.write(rows, stream.released)
                self.failed = self.sink.problem()
            except AmelesError as problem:
                if rows.failed:  # the store failed, which concerns all sinks
                    raise
                self.failed = problem
        if self.failed is None and stream.released and self._is_news(sent, stream.released):
            with store.writing() as writing:
                writing.set_sent(stream, self.name, stream.released)
            self._recorded = stream.released

    def finish(self) -> None:
        """Waits for what goes on beside this thread: here nothing does."""

    def close(self) -> None:
        """Ends what goes on beside this thread."""

    def _is_news(self, sent: int, released: int) -> bool:
        """Whether the store must record this step; of a sink with a note it records only one."""
        if self.sink is not None and self.sink.knows:
            return not self._recorded
        return sent < released

    @property
    def _stands(self) -> bool:
        if self.sink is None or (self.failed is not None and self.sink.heals):
            return False
        try:
            return self.sink.stands()
        except AmelesError:
            return False

    def _open(self) -> None:
        self.sink, self.failed = None, None
        try:
            self.sink = self._open_sink()
            self.failed = self.sink.problem()
        except AmelesError as problem:
            self.failed = problem


class _Rows:
    """Rows of the store, read once, and whether reading them failed."""

    def __init__(self) -> None:
        self.source: Iterator[Row] = iter(())
        self.failed = False

    def __iter__(self) -> Iterator[Row]:
        try:
            yield from self.source
        except AmelesError:
            self.failed = True
            raise
