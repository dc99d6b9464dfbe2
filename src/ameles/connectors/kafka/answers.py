"""Answers of the servers of Kafka: waited for while a server can be reached, and asked for again
where the leader of a partition is away."""

from __future__ import annotations

from collections.abc import Sequence
from time import sleep
from typing import Any

from ameles.connectors.kafka.driver import driver

TURN = 2.0  # seconds for the answers of leaders
PAUSE = 3.0  # seconds until they are asked again
TURNS = 3  # together longer than the nine seconds after which a leader that died is replaced
LATE = "_TIMED_OUT"  # the client's name for answers that did not come in time
_LOOK = 0.05  # seconds between two looks for failures


class KafkaAway(Exception):
    """The servers cannot be reached now, or refuse; the text is the name of an error."""


def answer(admin: Any, future: Any) -> Any:
    """The result of a request; ends early if no server can be reached."""
    while True:
        try:
            return future.result(_LOOK)
        except TimeoutError:
            admin.poll(0)


def offsets(admin: Any, places: Sequence[Any], spec: Any, **options: Any) -> dict[int, Any]:
    """What the leaders say about an offset of each partition, by the number of the partition.

    The client keeps a processor busy for as long as it waits for a leader that is away.  So it gets
    little time, and pauses.  A leader that is away, or that has just started, may give neither an
    offset nor an error.
    """
    for turn in range(TURNS):
        if turn:
            sleep(PAUSE)
        asked = admin.list_offsets(dict.fromkeys(places, spec), request_timeout=TURN, **options)
        try:
            answers = {place.partition: answer(admin, future) for place, future in asked.items()}
        except driver().KafkaException as problem:  # a slow machine may not answer in time
            if turn + 1 == TURNS or problem.args[0].name() != LATE:
                raise
            continue
        if all(each.offset >= 0 for each in answers.values()):
            return answers
    raise KafkaAway("OFFSET_NOT_AVAILABLE")
