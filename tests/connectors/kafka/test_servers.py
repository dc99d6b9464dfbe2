"""Servers of Kafka: how they are named, reached, and waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.kafka import offset_range as kafka_range
from ameles.connectors.kafka.source import KafkaSource
from ameles.connectors.kafka.topic import KafkaTopic
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError, StoreRefused
from tests.connectors.kafka.kafka_messages import COLUMNS, Messages, messages
from tests.connectors.reading import rows, rows_of
from tests.kafka_server import Cluster

__all__ = ["messages"]  # a fixture


class TestServers:
    def test_a_server_that_is_away(self, tmp_path: Path) -> None:
        source = open_source(
            "kafka://127.0.0.1:1/visits", COLUMNS, tmp_path, waiting=True, records="jsonl"
        )
        assert isinstance(source, KafkaSource)
        with pytest.raises(SourceAway, match=r"cannot be read now \(_TRANSPORT\)"):
            source.ends()

    def test_connections_that_are_cut(self, messages: Messages, kafka: Cluster) -> None:
        messages.launch()
        messages.add(*"abc")
        text = kafka.url(messages.name, proxied=True)
        proxy = kafka.brokers[0].proxy
        source = open_source(text, COLUMNS, messages.base, records="jsonl")
        assert isinstance(source, KafkaSource)
        reading = source.reading(messages.position)
        proxy.cut()
        try:
            with pytest.raises(SourceAway, match="cannot be read now"):
                rows_of(reading, COLUMNS)
            with pytest.raises(SourceAway, match="cannot be read now"):
                source.ends()
        finally:
            proxy.mend()
        assert [row[0] for row in rows_of(reading, COLUMNS)] == ["a", "b", "c"]

    def test_a_topic_that_says_nothing(
        self, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kafka_range, "QUIET", 0.0)
        messages.launch()
        messages.add("a")
        with pytest.raises(SourceAway, match="_TIMED_OUT"):
            messages.read()

    def test_what_is_secret_is_in_a_file_of_its_own(self, messages: Messages) -> None:
        messages.add("a")
        url = messages.cluster.url(messages.name)
        secret = messages.base / "kafka.toml"

        def opened(text: str) -> Any:
            secret.touch(0o600)
            secret.write_text(text)
            return open_source(url, COLUMNS, messages.base, records="jsonl", connection=secret)

        assert len(rows(opened('client.id = "flu"\n'), COLUMNS)) == 1
        sign_in = (
            'security.protocol = "SASL_PLAINTEXT"\n[sasl]\nmechanism = "PLAIN"\n'
            'username = "ann"\npassword = "hush-hush"\n'
        )
        with pytest.raises(SourceAway, match="_AUTHENTICATION") as refused:
            opened(sign_in)
        assert "hush" not in str(refused.value)
        tls = 'security.protocol = "SSL"\nssl.ca.location = "nowhere.pem"\n'
        for unusable, name in (
            (tls, "ssl.ca.location"),
            ('isolation.level = "read_uncommitted"\n', "isolation.level"),
            ("group.id = 'a'\n", "group.id"),
            ("client.bogus = 'a'\n", "client.bogus"),
        ):
            with pytest.raises(PlanError, match=f"connection file: see {name}"):
                opened(unusable)
        secret.chmod(0o640)
        with pytest.raises(PlanError, match="can be read by other users"):
            open_source(url, COLUMNS, messages.base, records="jsonl", connection=secret)

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("kafka://localhost", "does not name servers and one topic"),
            ("kafka://localhost/", "does not name servers and one topic"),
            ("kafka://localhost/a/b", "does not name servers and one topic"),
            ("kafka://localhost/a?b=c", "does not name servers and one topic"),
            ("kafka://localhost/..", "does not name servers and one topic"),
            ("kafka://a,,b/c", "does not name servers and one topic"),
            ("kafka://a:b/c", "does not name servers and one topic"),
            ("kafka://me:word@localhost/a", "contains a user or a password"),
            ("kafka://me:wo/rd@localhost", "contains a user or a password"),
        ],
    )
    def test_addresses(self, text: str, what: str, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match=what):
            open_source(text, COLUMNS, tmp_path, records="jsonl")

    def test_several_servers(self) -> None:
        topic = KafkaTopic.at("kafka://a,b.example:9093,[::1]/visits_1.x-y")
        assert topic.servers == "a:9092,b.example:9093,[::1]:9092"
        assert topic.name == "visits_1.x-y"

    def test_positions_of_other_sources_are_refused(self, messages: Messages) -> None:
        with pytest.raises(StoreRefused, match="not one of kafka"):
            messages.source().reading('{"ameles":"position","version":1,"kind":"redis","last":0}')
