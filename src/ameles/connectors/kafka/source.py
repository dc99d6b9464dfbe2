"""Topics of Kafka: a message is an event, and its value is a line or a record of Avro.

A position has the id of the topic and, for each partition, the offset after the last message that
was read, with the epoch of the leader that wrote it.  All messages from there to the last stable
offset must still be there.  Offsets without a message, as after a transaction, are not missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import SplitResult

from ameles.connectors.kafka.answers import KafkaAway
from ameles.connectors.kafka.avro_values import AvroValues
from ameles.connectors.kafka.offset_range import KafkaRange, MessagesGone
from ameles.connectors.kafka.settling import Doubt
from ameles.connectors.kafka.topic import EXAMPLE, MISSING, KafkaTopic, TopicState
from ameles.connectors.message_source import MessagePiece, MessageSource, gap
from ameles.connectors.reading import Piece, Reading, Skipped
from ameles.connectors.source import SourceAway, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.core.exceptions import PlanError, SourceUnreadable

TYPICAL = 100  # bytes of a message, about


class KafkaSource(MessageSource[TopicState]):
    """The messages of a topic."""

    schemes = ("kafka",)
    kind = "kafka"
    example = EXAMPLE
    formats = ("csv", "jsonl", "avro")

    @classmethod
    def check_address(cls, text: str) -> None:
        KafkaTopic.at(text)

    @classmethod
    def _opened(cls, request: SourceRequest, address: SplitResult, dialect: Dialect) -> Self:
        values = AvroValues.read(request) if request.records == "avro" else None
        return cls(request, dialect, KafkaTopic.at(request.text, request.connection), values)

    def __init__(
        self,
        request: SourceRequest,
        dialect: Dialect,
        topic: KafkaTopic,
        values: AvroValues | None = None,
    ) -> None:
        super().__init__(request, dialect)
        self._topic = topic
        self._values = values

    def missing(self) -> PlanError | None:
        if self.ends().id is not None:
            return None
        return PlanError(
            f"There is no topic {self._topic.name!r} on these servers.",
            tip="wait until somebody creates it, or ameles run --follow",
        )

    def at_launch(self) -> str:
        return self._beginning(self.ends())

    def ends(self) -> TopicState:
        with reached(self._topic):
            state = self._topic.look()
        if state.compacted:
            raise SourceUnreadable(
                f"The topic {self._topic.name!r} is compacted.",
                why="one message removes others before they are read",
                tip="a topic with cleanup.policy=delete",
            )
        return state

    def reading(self, position: str | None, ends: TopicState | None = None) -> Reading:
        ends = self.ends() if ends is None else ends
        before = self._stored(self._beginning(ends) if position is None else position)
        begun = {int(number): (at, epoch) for number, at, epoch in before["partitions"]}
        doubt = Doubt()
        while _is_behind(ends, before["topic"], begun) and doubt.wait():
            ends = self.ends()
        gaps: list[Skipped] = []
        if before["topic"] not in (None, ends.id) or not begun.keys() <= ends.partitions.keys():
            # another topic has its name now, or none, and what that topic has is unread
            gaps += self._skipped(str(self._topic))
            begun = {number: (each.first, None) for number, each in ends.partitions.items()}
        pieces, after = [], []
        for number, each in ends.partitions.items():
            start, epoch = begun.get(number, (0, None))
            piece = self._piece(ends.id, number, start, each.end, epoch)
            if not each.first <= start <= each.end or self._was_cut(piece):
                gaps += self._skipped(piece.place)
                start, epoch = min(max(start, each.first), each.end), None
            if start < each.end:
                pieces.append(self._piece(ends.id, number, start, each.end, epoch))
                start, epoch = each.end, each.epoch
            after.append([number, start, epoch])
        self._skip_gap = None  # it was declared about what is lost now
        position = self._position(topic=ends.id, partitions=after)
        return Reading(tuple(pieces), position, gaps=tuple(gaps))

    def _beginning(self, ends: TopicState) -> str:
        """Before all messages that there are: what was removed earlier is not missed."""
        partitions = [[number, each.first, None] for number, each in ends.partitions.items()]
        return self._position(topic=ends.id, partitions=partitions)

    def _piece(
        self, id_: str | None, partition: int, start: int, end: int, epoch: int | None
    ) -> KafkaPiece:
        offsets = KafkaRange(
            topic=self._topic, id=id_, partition=partition, start=start, end=end, epoch=epoch
        )
        return KafkaPiece(
            dialect=self._dialect, records=self._records, range=offsets, values=self._values
        )

    def _was_cut(self, piece: KafkaPiece) -> bool:
        """Whether a gap that was declared is one that only reading shows."""
        asked = self._skip_gap is not None and piece.range.start < piece.range.end
        return asked and not piece.begins()


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KafkaPiece(MessagePiece):
    """The messages of a range of offsets."""

    range: KafkaRange
    values: AvroValues | None

    @property
    def size(self) -> int:
        return TYPICAL * (self.range.end - self.range.start)

    @property
    def place(self) -> str:
        """What people call it."""
        return f"partition {self.range.partition} of {self.range.topic}"

    def cut(self, size: int) -> tuple[Piece, ...]:
        step = max(1, size // TYPICAL)
        starts = range(self.range.start, self.range.end, step)
        return tuple(replace(self, range=self.range.part(start, start + step)) for start in starts)

    def messages(self) -> Iterator[bytes | None]:
        line = _same if self.values is None else self.values.line
        with self._whole():
            for message in self.range.messages():
                yield line(message.value())
            now = self.range.topic.id()
            if now is None:  # deleted meanwhile, or a broker that has just started
                raise KafkaAway(MISSING)
            if now != self.range.id:  # another topic got its name meanwhile
                raise MessagesGone

    def begins(self) -> bool:
        """Whether the messages before it are still those that were read."""
        try:
            with self._whole(), closing(self.range.messages()) as messages:
                next(messages, None)
        except SourceAway:
            raise
        except SourceUnreadable:
            return False
        return True

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Refuses a range with a gap."""
        try:
            with reached(self.range.topic):
                yield
        except MessagesGone:
            raise gap(self.place, KafkaSource.noun) from None


@contextmanager
def reached(topic: KafkaTopic) -> Iterator[None]:
    """Servers that cannot be reached are waited for."""
    try:
        yield
    except KafkaAway as problem:
        raise SourceAway(
            f"The topic {topic.name!r} of {topic.servers} cannot be read now ({problem}).",
            tip="start the servers, or mend the address and the connection file; its user must be "
            "allowed to read the topic, and to describe it and its configuration",
        ) from None


def _is_behind(
    ends: TopicState, topic: str | None, begun: Mapping[int, tuple[int, int | None]]
) -> bool:
    """Whether less is there than was read, as it may seem for a moment after a broker started."""
    if ends.id is None or topic != ends.id:
        return ends.id is None and topic is not None
    known = ends.partitions
    return any(number not in known or known[number].end < at for number, (at, _) in begun.items())


def _same(value: bytes | None) -> bytes | None:
    return value
