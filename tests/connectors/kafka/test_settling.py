"""A broker that has just started seems to have lost messages: only a loss that holds is a gap."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.connectors.declarations import Declarations
from ameles.connectors.kafka import answers as kafka_answers
from ameles.connectors.kafka.answers import PAUSE, TURN, TURNS, KafkaAway
from ameles.connectors.kafka.driver import driver
from ameles.connectors.kafka.offset_range import KafkaRange, MessagesGone
from ameles.connectors.kafka.settling import SETTLE
from ameles.connectors.kafka.source import KafkaPiece, KafkaSource
from ameles.connectors.kafka.topic import KafkaTopic, Partition, TopicState
from ameles.connectors.reading import Reading, Skipped
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from ameles.core.exceptions import SourceUnreadable
from tests.connectors.kafka.kafka_messages import COLUMNS, MovedClock, clock
from tests.kafka_server import ADMIN

__all__ = ["clock"]  # a fixture
URL = "kafka://127.0.0.1:1/visits"  # nobody is there
LATE = -7  # instead of an offset: no answer comes in time
NONE = TopicState(None, False, {})
Look = Callable[[], TopicState]


def state(end: int, first: int = 0, id_: str = "one", partitions: int = 1) -> TopicState:
    ends = {number: Partition(first, end, 0) for number in range(partitions)}
    return TopicState(id_, False, ends)


def shows(monkeypatch: pytest.MonkeyPatch, *states: TopicState | Exception) -> Look:
    """What looks at the topic show, one after the other; the last one stays."""
    left = list(states)

    def look(*_: object) -> TopicState:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, Exception):
            raise now
        return now

    monkeypatch.setattr(KafkaTopic, "look", look)
    return look


def reading(tmp_path: Path, position: str | None = None, why: str | None = None) -> Reading:
    source = open_source(
        URL,
        COLUMNS,
        tmp_path,
        waiting=True,
        records="jsonl",
        declarations=Declarations(skip_gap=why),
    )
    assert isinstance(source, KafkaSource)
    return source.reading(position)


def ranges(read: Reading) -> list[tuple[int, int]]:
    pieces = [piece for piece in read.pieces if isinstance(piece, KafkaPiece)]
    return [(piece.range.start, piece.range.end) for piece in pieces]


@pytest.fixture
def position(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """After five messages."""
    shows(monkeypatch, state(5))
    return reading(tmp_path).position


class TestEnds:
    @pytest.mark.parametrize("why", [None, "who knows"])
    @pytest.mark.parametrize("low", [state(3), NONE, state(5, partitions=0)])
    def test_what_comes_back_was_not_lost(
        self,
        monkeypatch: pytest.MonkeyPatch,
        clock: MovedClock,
        tmp_path: Path,
        position: str,
        low: TopicState,
        why: str | None,
    ) -> None:
        shows(monkeypatch, low, low, state(5))
        back = reading(tmp_path, position, why)
        assert (ranges(back), back.gaps, back.position) == ([], (), position)
        assert 0 < clock.now < SETTLE

    @pytest.mark.parametrize("low", [state(3), NONE, state(5, partitions=0)])
    def test_what_stays_away_was_lost(
        self,
        monkeypatch: pytest.MonkeyPatch,
        clock: MovedClock,
        tmp_path: Path,
        position: str,
        low: TopicState,
    ) -> None:
        shows(monkeypatch, low)
        with pytest.raises(SourceUnreadable, match=r"Messages of .* were removed") as refused:
            reading(tmp_path, position)
        assert not isinstance(refused.value, SourceAway)
        assert clock.now >= SETTLE
        clock.now = 0.0
        assert len(reading(tmp_path, position, "an old disk").gaps) == 1
        assert clock.now >= SETTLE

    @pytest.mark.parametrize("other", [state(9, id_="two"), state(3, id_="two"), state(9, first=6)])
    def test_what_cannot_come_back_is_refused_at_once(
        self,
        monkeypatch: pytest.MonkeyPatch,
        clock: MovedClock,
        tmp_path: Path,
        position: str,
        other: TopicState,
    ) -> None:
        shows(monkeypatch, other)
        with pytest.raises(SourceUnreadable, match="were removed"):
            reading(tmp_path, position)
        opened(monkeypatch, [Said(9)])
        assert [type(gap) for gap in reading(tmp_path, position, "moved").gaps] == [Skipped]
        assert not clock.now

    def test_a_broker_that_goes_away_again(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock, tmp_path: Path, position: str
    ) -> None:
        shows(monkeypatch, state(3), KafkaAway("_TRANSPORT"))
        with pytest.raises(SourceAway, match="_TRANSPORT"):
            reading(tmp_path, position, "who knows")


@dataclass(frozen=True)
class Said:
    """A message, or an error of a given name."""

    offset_: int
    problem: str | None = None

    def offset(self) -> int:
        return self.offset_

    def leader_epoch(self) -> int:
        return 7

    def error(self) -> Said | None:
        return None if self.problem is None else self

    def name(self) -> str | None:
        return self.problem


@dataclass
class Consumers:
    """Clients that say one thing after the other; the last of them stays."""

    says: list[Sequence[Said]]
    opened: list[tuple[int, int]] = field(default_factory=list)  # offsets with epochs

    @contextmanager
    def consumer(self, *_: object) -> Iterator[Any]:
        yield self

    def assign(self, places: Sequence[Any]) -> None:
        self.opened += [(place.offset, place.leader_epoch) for place in places]

    def consume(self, *_: object) -> list[Said]:
        return list(self.says.pop(0) if len(self.says) > 1 else self.says[0])


def opened(monkeypatch: pytest.MonkeyPatch, *says: Sequence[Said]) -> Consumers:
    consumers = Consumers(list(says))
    monkeypatch.setattr(KafkaTopic, "consumer", consumers.consumer)
    return consumers


def offsets(start: int, end: int) -> Iterator[int]:
    range_ = KafkaRange(
        topic=KafkaTopic.at(URL), id="one", partition=0, start=start, end=end, epoch=4
    )
    return (message.offset() for message in range_.messages())


RESET, END = "_AUTO_OFFSET_RESET", "_PARTITION_EOF"


class TestRanges:
    @pytest.mark.parametrize("problem", [RESET, END])
    def test_what_comes_back_is_read_once(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock, problem: str
    ) -> None:
        shows(monkeypatch, state(4), state(4), state(8))
        consumers = opened(
            monkeypatch,
            [Said(2), Said(3), Said(4, problem)],
            [Said(4), Said(6), Said(8, END)],
        )
        assert list(offsets(2, 8)) == [2, 3, 4, 6]
        assert consumers.opened == [(2, 4), (4, 7)]
        assert 0 < clock.now < SETTLE

    @pytest.mark.parametrize("problem", [RESET, END])
    def test_what_stays_away_is_gone(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock, problem: str
    ) -> None:
        shows(monkeypatch, state(2))
        opened(monkeypatch, [Said(2, problem)])
        with pytest.raises(MessagesGone):
            next(offsets(2, 8))
        assert clock.now >= SETTLE

    @pytest.mark.parametrize("other", [state(9, id_="two"), state(9, first=3)])
    def test_what_cannot_come_back_is_gone_at_once(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock, other: TopicState
    ) -> None:
        shows(monkeypatch, other)
        opened(monkeypatch, [Said(2, RESET)])
        with pytest.raises(MessagesGone):
            next(offsets(2, 8))
        assert not clock.now

    def test_each_message_begins_a_new_doubt(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock
    ) -> None:
        shows(monkeypatch, state(2))
        turns = [[Said(at), Said(at + 1, RESET)] for at in range(2, 8)]
        opened(monkeypatch, *turns, [Said(8, END)])
        assert list(offsets(2, 8)) == [2, 3, 4, 5, 6, 7]
        assert clock.now > SETTLE

    def test_a_topic_that_is_not_known_after_its_last_message(
        self, monkeypatch: pytest.MonkeyPatch, clock: MovedClock, tmp_path: Path
    ) -> None:
        shows(monkeypatch, state(3))
        opened(monkeypatch, [Said(3, END)])
        monkeypatch.setattr(KafkaTopic, "id", lambda _: None)
        (piece,) = reading(tmp_path).pieces
        assert isinstance(piece, KafkaPiece)
        with pytest.raises(SourceAway, match="UNKNOWN_TOPIC_OR_PART"):
            list(piece.messages())


class Starting:
    """An admin client whose servers know the topic, but not where its partition begins or ends."""

    def __init__(self, *offsets: int) -> None:
        self._offsets = list(offsets)

    @contextmanager
    def admin(self, *_: object) -> Iterator[Any]:
        yield self

    def describe_topics(self, *_: object, **__: object) -> dict[str, Any]:
        return {"visits": done(SimpleNamespace(topic_id="one", partitions=[SimpleNamespace(id=0)]))}

    def describe_configs(self, *_: object, **__: object) -> dict[str, Any]:
        return {"visits": done({"cleanup.policy": SimpleNamespace(value="delete")})}

    def list_offsets(self, places: Sequence[Any], **_: object) -> dict[Any, Any]:
        offset = self._offsets.pop(0)
        answer = SimpleNamespace(offset=offset, leader_epoch=0)
        return {place: late() if offset == LATE else done(answer) for place in places}


def late() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(
        driver().KafkaException(driver().KafkaError(driver().KafkaError._TIMED_OUT))
    )
    return future


def done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


@pytest.mark.parametrize("offsets", [(-1001,) * 3, (0, *(-1001,) * 3)])
def test_an_answer_without_an_offset_is_none(
    monkeypatch: pytest.MonkeyPatch, offsets: tuple[int, ...]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(kafka_answers, "sleep", pauses.append)
    monkeypatch.setattr(KafkaTopic, "admin", Starting(*offsets).admin)
    with pytest.raises(KafkaAway, match="OFFSET_NOT_AVAILABLE"):
        KafkaTopic.at(URL).look()
    monkeypatch.setattr(KafkaTopic, "admin", Starting(*offsets[-3:]).admin)
    with pytest.raises(KafkaAway, match="OFFSET_NOT_AVAILABLE"):
        KafkaTopic.at(URL).high(0)
    assert pauses == [PAUSE] * 4


def test_leaders_that_are_away_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed leaders are replaced after nine seconds, unless a cluster says otherwise."""
    pauses: list[float] = []
    monkeypatch.setattr(kafka_answers, "sleep", pauses.append)
    monkeypatch.setattr(KafkaTopic, "admin", Starting(-1001, 2, -1001, -1001, 5).admin)
    assert KafkaTopic.at(URL).look() == state(5, first=2)
    assert len(pauses) == 3
    assert (TURNS - 1) * (TURN + PAUSE) > 9


def test_answers_that_come_late_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(kafka_answers, "sleep", pauses.append)
    monkeypatch.setattr(KafkaTopic, "admin", Starting(LATE, 2, LATE, LATE, 5).admin)
    assert KafkaTopic.at(URL).look() == state(5, first=2)
    assert len(pauses) == 3
    monkeypatch.setattr(KafkaTopic, "admin", Starting(*(LATE,) * TURNS).admin)
    with pytest.raises(driver().KafkaException, match="TIMED_OUT"):
        KafkaTopic.at(URL).high(0)


def clients() -> int:
    return sum(isinstance(each, ADMIN.AdminClient) for each in gc.get_objects())


def test_servers_that_are_away_leave_no_clients_behind() -> None:
    """confluent-kafka keeps an exception of a callback, which would keep the client."""
    topic, before = KafkaTopic.at(URL), clients()
    for _ in range(3):
        with pytest.raises(KafkaAway):
            topic.look()
    assert clients() <= before
