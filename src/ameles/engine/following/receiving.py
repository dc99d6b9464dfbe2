"""Streams whose events are posted to a service.

Usually a batch is stored and answered at once, and counted later, at the latest when its step ends.
If the state may be seized, no raw event may wait anywhere: a batch is folded into the noisy state,
and answered when that state is sealed.
"""

from __future__ import annotations

from ameles.connectors.http_source import Handed, HttpSource, Outcome, batches_in
from ameles.engine.following.arrivals import Arrivals, Came, Ended
from ameles.engine.following.batch_writer import BatchWriter
from ameles.engine.following.followed import Followed
from ameles.store.batches import StoredBatch

# Stored batches are counted before their step ends when they have this many bytes.
AT_ONCE = 8 << 20
# How many rows of batches are read from the store at a time.
FEW = 64


def receive(followed: Followed, source: HttpSource) -> None:
    """Takes batches and closes steps, until the stream is stopped or over."""
    try:
        if followed.engine.plan.privacy.intrusions == "none":
            _Stored(followed, source).run()
        else:
            _Sealed(followed, source).run()
    finally:
        # what nobody has looked at counts nowhere, also if the stream ends before its last answer
        source.give_up(Outcome.ENDED if followed.session.over else Outcome.UNKNOWN)


class _Stored:
    """Counts batches that the store keeps until then."""

    def __init__(self, followed: Followed, source: HttpSource) -> None:
        self._followed = followed
        self._session = followed.session
        self._store = followed.engine.store
        self._source = source

    def run(self) -> None:
        session = self._session
        plan = self._followed.engine.plan
        writer = BatchWriter(plan, self._store, session.stream, self._source)
        writer.counted(session.stream, self._counted)
        writer.forget()  # a crash may have left some
        writer.begin()
        with self._store.merging_aside(), writer.running():
            arrivals: Arrivals[Handed] = self._followed.arrivals(None)
            for arrival in arrivals:
                if isinstance(arrival, Ended):
                    writer.close_step(arrival.step)
                    self._close(writer, arrival.step)
                    self._followed.told(arrival.step)
                elif writer.failing:
                    with self._store.writing():  # if that is refused, so is the stream
                        pass
                elif writer.waiting >= AT_ONCE:
                    self._count(writer, session.stream.released + 1, closing=False)
                else:
                    writer.forget()
        if not writer.failing:
            writer.forget()

    @property
    def _counted(self) -> int:
        return batches_in(self._session.position)

    def _close(self, writer: BatchWriter, step: int) -> None:
        """Counts each batch in the step in which it arrived, and closes all steps up to one."""
        with self._store.reading() as transaction:
            steps = transaction.waiting_steps(self._session.stream, after=self._counted)
        for arrived in steps:
            if arrived <= step:
                self._count(writer, arrived, closing=True)
        self._session.take(self._source.reading([], self._counted), step)
        writer.counted(self._session.stream, self._counted)
        if not self._source.fill:  # else the writer deletes them, with what it stores
            writer.forget()

    def _count(self, writer: BatchWriter, arrived: int, *, closing: bool) -> None:
        """Counts the batches that arrived by the end of a step, and closes it with the last."""
        more = True
        while more:
            batches, more = self._next(arrived)
            size = sum(len(batch.lines) for batch in batches)
            number = batches[-1].number if batches else self._counted
            reading = self._source.reading([(batch.form, batch.lines) for batch in batches], number)
            step = None if self._followed.engine.plan.stream.time is not None else arrived
            self._session.take(reading, arrived if closing and not more else 0, arrived=step)
            writer.counted(self._session.stream, number, size)

    def _next(self, step: int) -> tuple[list[StoredBatch], bool]:
        """Some batches that arrived by the end of a step, and whether there are more."""
        batches, after, size = list[StoredBatch](), self._counted, 0
        while size < AT_ONCE:
            with self._store.reading() as transaction:
                some = transaction.waiting_batches(
                    self._session.stream, after=after, last_step=step, most=FEW
                )
            batches += some
            size += sum(len(batch.lines) for batch in some)
            if len(some) < FEW:
                return batches, False
            after = some[-1].number
        return batches, True


class _Sealed:
    """Folds batches into a state that may be seized; nothing else of them is kept."""

    def __init__(self, followed: Followed, source: HttpSource) -> None:
        self._followed = followed
        self._session = followed.session
        self._source = source

    def run(self) -> None:
        arrivals = self._followed.arrivals(self._source)
        for arrival in arrivals:
            if isinstance(arrival, Ended):
                self._session.take(self._source.reading([]), arrival.step)
                self._followed.told(arrival.step)
            elif isinstance(arrival, Came) and arrival.block is not None:
                self._fold(arrival.block)
                arrivals.counted(len(arrival.block))
            del arrival  # keep no batch while waiting for the next

    def _fold(self, handed: Handed) -> None:
        outcomes = [Outcome.UNKNOWN] * len(handed.batches)
        try:
            outcomes = self._outcomes(handed)
        finally:
            handed.answer(outcomes)

    def _outcomes(self, handed: Handed) -> list[Outcome]:
        session, step = self._session, self._session.stream.released + 1
        known, outcomes, blocks = session.batch_ids, list[Outcome](), list[tuple[str, bytes]]()
        for batch in handed.batches:
            if session.over:
                outcomes.append(Outcome.ENDED)
            elif batch.step != step:
                outcomes.append(Outcome.CLOSED)
            elif batch.digest in known:
                outcomes.append(Outcome.COUNTED)
            elif known.full:
                outcomes.append(Outcome.FULL)
            else:
                outcomes.append(Outcome.COUNTED)
                known.add(batch.digest)
                blocks.append((batch.form, batch.lines))
        if blocks:
            session.take(self._source.reading(blocks), 0, arrived=step)
        return outcomes
