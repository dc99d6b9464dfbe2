"""Checks of brokers and databases that no server of the tests can provoke, with clients that answer
for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.connectors.format import Format
from ameles.connectors.kafka import offset_range as kafka_range
from ameles.connectors.kafka.answers import KafkaAway
from ameles.connectors.kafka.offset_range import KafkaRange
from ameles.connectors.kafka.sink import KafkaSink
from ameles.connectors.kafka.source import KafkaPiece
from ameles.connectors.kafka.topic import KafkaTopic, TopicState
from ameles.connectors.postgres import table as postgres_table
from ameles.connectors.postgres.server import TableAddress, unreadable
from ameles.connectors.redis.source import StreamKey
from ameles.connectors.remote_sink import OutgoingBatch
from ameles.connectors.source import SourceAway
from ameles.connectors.text.dialects import DIALECTS
from ameles.core.exceptions import AmelesError, PlanError

TOPIC = KafkaTopic.at("kafka://a:1/visits")
RANGE = KafkaRange(topic=TOPIC, id="i", partition=0, start=3, end=9, epoch=4)
TABLE = TableAddress.of("postgresql://me@h/Clinic?table=Visits", "an example")


class Refused(Exception):
    """As the driver raises it."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("secret")
        self.sqlstate = sqlstate


class TestKafka:
    @pytest.mark.parametrize(
        ("other", "same"),
        [
            ("kafka://b,a:1/visits", True),
            ("kafka://a:1/others", False),
            ("kafka://a:2/visits", False),
            ("a.csv", False),
        ],
    )
    def test_which_addresses_name_one_topic(self, other: str, same: bool) -> None:
        assert TOPIC.overlaps(other) is same

    def test_a_part_that_begins_later_knows_no_epoch(self) -> None:
        assert RANGE.part(3, 5).epoch == 4
        assert RANGE.part(5, 99) == KafkaRange(topic=TOPIC, id="i", partition=0, start=5, end=9)

    def test_a_server_that_is_away_is_no_gap(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also if the owner has declared one."""

        def away(self: object) -> Iterator[Any]:
            raise KafkaAway("_TRANSPORT")
            yield

        monkeypatch.setattr(KafkaRange, "messages", away)
        dialect = DIALECTS["jsonl"]({"who": "text"}, Format(), raw=False)
        piece = KafkaPiece(dialect=dialect, records="jsonl", range=RANGE, values=None)
        with pytest.raises(SourceAway):
            piece.begins()

    def test_a_group_that_is_refused_is_no_sign_of_life(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = SimpleNamespace(name=lambda: "GROUP_AUTHORIZATION_FAILED")
        clock = iter(range(1000))

        @contextmanager
        def consumer(self: object) -> Iterator[Any]:
            yield SimpleNamespace(
                assign=lambda places: None,
                consume=lambda *_: [],
                poll=lambda wait: SimpleNamespace(error=lambda: refused),
            )

        monkeypatch.setattr(KafkaTopic, "consumer", consumer)
        monkeypatch.setattr(kafka_range, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        with pytest.raises(KafkaAway, match="_TIMED_OUT"):
            list(RANGE.messages())

    def test_a_topic_gets_no_other_batches(self) -> None:
        sink = KafkaSink("kafka://a/releases", None, identity="launch")
        with pytest.raises(TypeError, match="steps of messages"):
            sink.send(OutgoingBatch(id="1", body=b"", step=1, last=True))

    def test_a_topic_that_is_deleted_while_its_end_is_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sink = KafkaSink("kafka://a/releases", None, identity="launch")
        monkeypatch.setattr(KafkaTopic, "id", lambda self: "i")
        monkeypatch.setattr(KafkaTopic, "high", lambda self, partition: 3)
        monkeypatch.setattr(KafkaTopic, "look", lambda self: TopicState(None, False, {}))
        with pytest.raises(KafkaAway, match="UNKNOWN_TOPIC"):
            sink._settled_step(0.0)


class TestRedis:
    def test_an_old_server_does_not_count(self) -> None:
        old = SimpleNamespace(
            exists=lambda key: True, xinfo_stream=lambda key: {"last-generated-id": b"1-1"}
        )
        key = StreamKey("redis://h", "visits")
        with pytest.raises(PlanError, match="does not count the entries"):
            key.ends(old)

    def test_an_address_without_a_server(self) -> None:
        with pytest.raises(PlanError, match="does not name a server"):
            StreamKey.of("redis:///0?stream=a", "an example")

    def test_a_connection_file_with_something_else(self, tmp_path: Path) -> None:
        file = tmp_path / "redis.toml"
        file.touch(0o600)
        file.write_text('pass_word = "hush-hush"\n')
        key = StreamKey.of("redis://127.0.0.1:1/0?stream=a", "an example", file)
        with (
            pytest.raises(PlanError, match="with this connection file") as refused,
            key.client() as c,
        ):
            c.ping()
        assert "hush" not in str(refused.value)


class TestPostgres:
    @pytest.mark.parametrize(
        ("server", "what"),
        [
            ((False, 130009, "UTF8"), "older than Postgres 14"),
            ((False, 150001, "LATIN1"), "is not in UTF-8"),
        ],
    )
    def test_servers_that_are_not_fit(self, server: tuple[Any, ...], what: str) -> None:
        answer = SimpleNamespace(fetchone=lambda: server)
        connection = SimpleNamespace(execute=lambda *_: answer)
        with pytest.raises(PlanError, match=what):
            postgres_table.look(connection, TABLE, "tx", {}, True)

    @pytest.mark.parametrize(
        ("code", "away"),
        [
            *((code, True) for code in ("08006", "40001", "53300", "57P01", "55P03", None)),
            *((code, False) for code in ("22003", "XX000", "55000")),
        ],
    )
    def test_what_is_waited_for(self, code: str | None, away: bool) -> None:
        refused: AmelesError = unreadable(TABLE, Refused(code))
        assert isinstance(refused, SourceAway) is away
        assert refused.what.startswith("The table 'Visits' of postgresql://me@h/Clinic cannot")
        assert refused.tip
        assert "secret" not in str(refused)
