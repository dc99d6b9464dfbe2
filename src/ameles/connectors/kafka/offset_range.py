"""The messages of a partition from one offset to another: the same whenever they are read.

Offsets of transactions that were given up, and of the marks that end transactions, have no message.
A range ends at the first message or end of the partition that is not before its last offset.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

from ameles.connectors.kafka.answers import KafkaAway
from ameles.connectors.kafka.driver import driver
from ameles.connectors.kafka.settling import Doubt
from ameles.connectors.kafka.topic import KafkaTopic

AT_ONCE = 10_000  # messages
WAIT = 0.1  # seconds for the next message
QUIET = 30.0  # seconds without a message after which a topic cannot be read now
_GONE = ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE", "_LOG_TRUNCATION")
_END = "_PARTITION_EOF"
# The client asks for the group whose name it needs; nothing here depends on the answer.
_OF_GROUP = "GROUP_AUTHORIZATION_FAILED"


class MessagesGone(Exception):
    """Messages of a range are no longer there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRange:
    """Offsets of a partition: from ``start`` to before ``end``."""

    topic: KafkaTopic
    id: str | None  # of the topic, which must not have changed
    partition: int
    start: int
    end: int
    epoch: int | None = None  # of the leader that wrote what comes before; None: unknown

    def part(self, start: int, end: int) -> Self:
        """The offsets from one to before another."""
        epoch = self.epoch if start == self.start else None  # later leaders wrote what is inside
        return replace(self, start=start, end=min(end, self.end), epoch=epoch)

    def messages(self) -> Generator[Any]:
        """All messages of committed transactions, in order.

        Raises ``MessagesGone`` if some were removed, or if the partition was cut before the start
        and grew again, and ``KafkaAway`` if it cannot be read now.  What seems to be gone is looked
        for again from where the reading was (``settling.py``).
        """
        rest, doubt = self, Doubt()
        while True:
            try:
                with closing(rest._attempt()) as attempt:
                    for message in attempt:
                        yield message
                        doubt.clear()
                        offset, epoch = message.offset() + 1, message.leader_epoch()
                        rest = replace(self, start=offset, epoch=epoch)
                return
            except MessagesGone:
                if rest._is_gone() or not doubt.wait():
                    raise

    def _attempt(self) -> Generator[Any]:
        """The messages, until some seem to be gone."""
        epoch = {} if self.epoch is None else {"leader_epoch": self.epoch}
        place = driver().TopicPartition(self.topic.name, self.partition, self.start, **epoch)
        with self.topic.consumer() as consumer:
            consumer.assign([place])
            since = time.monotonic()
            while time.monotonic() - since < QUIET:
                came = consumer.consume(AT_ONCE, 0) or [consumer.poll(WAIT)]
                for message in came:
                    if message is None or _is_about_a_group(message.error()):
                        continue
                    if self._is_over(message):
                        return
                    if message.error() is None:
                        yield message
                    since = time.monotonic()
        raise KafkaAway("_TIMED_OUT")

    def _is_over(self, message: Any) -> bool:
        """Whether a message, or the end of the partition, is not before the end of the range."""
        problem = message.error()
        if problem is not None and problem.name() != _END:
            raise MessagesGone if problem.name() in _GONE else KafkaAway(problem.name())
        if problem is not None and message.offset() < self.end and self._was_shortened():
            raise MessagesGone
        return bool(message.offset() >= self.end)

    def _is_gone(self) -> bool:
        """Whether another topic has the name, or the partition begins later: neither is undone."""
        state = self.topic.look()
        now = state.partitions.get(self.partition)
        return state.id not in (None, self.id) or (now is not None and now.first > self.start)

    def _was_shortened(self) -> bool:
        """Whether the partition ends before the range, and not only for a server that is behind."""
        state = self.topic.look()
        now = state.partitions.get(self.partition)
        return state.id != self.id or now is None or now.end < self.end


def _is_about_a_group(problem: Any) -> bool:
    return problem is not None and problem.name() == _OF_GROUP
