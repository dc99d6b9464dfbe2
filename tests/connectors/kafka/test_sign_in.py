"""A real Kafka by TLS and SASL, and a user who has only the rights that its page names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.kafka.sink import KafkaSink
from ameles.connectors.kafka.source import KafkaSource
from ameles.connectors.remote_sink import Undelivered
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from tests.connectors.kafka.test_sink import release
from tests.connectors.reading import rows_of
from tests.kafka_certificates import write_certificates
from tests.kafka_server import ADMIN, SIGN_IN, USER, Cluster

COLUMNS = {"who": "text"}
OF_A_SOURCE = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")
OF_A_SINK = (*OF_A_SOURCE, "WRITE")
OF_TRANSACTIONS = ("WRITE", "DESCRIBE")


class Secure:
    """A server that asks who it is, and the connection file of a plan."""

    def __init__(self, cluster: Cluster, base: Path) -> None:
        self.cluster = cluster
        self.base = base
        (self.broker,) = cluster.brokers

    def url(self, topic: str) -> str:
        return f"kafka://{self.broker.secure}/{topic}"

    def connection(self, given: str = SIGN_IN, trusts: str = "ca.pem") -> Path:
        file = self.base / "kafka.toml"
        file.touch(0o600)
        file.write_text(
            'security.protocol = "SASL_SSL"\nsasl.mechanism = "PLAIN"\n'
            f'sasl.username = "{USER}"\nsasl.password = "{given}"\n'
            f'ssl.ca.location = "{self.broker.folder / trusts}"\n'
        )
        return file

    def grant(self, name: str, *rights: str, kind: str = "TOPIC") -> None:
        pattern = ADMIN.ResourcePatternType
        how = pattern.LITERAL if kind == "TOPIC" else pattern.PREFIXED
        given = [
            ADMIN.AclBinding(
                ADMIN.ResourceType[kind],
                name,
                how,
                f"User:{USER}",
                "*",
                ADMIN.AclOperation[right],
                ADMIN.AclPermissionType.ALLOW,
            )
            for right in rights
        ]
        admin = self.cluster.admin()
        for each in admin.create_acls(given).values():
            each.result()

    def source(self, topic: str, **options: Any) -> KafkaSource:
        opened = open_source(
            self.url(topic),
            COLUMNS,
            self.base,
            waiting=True,
            records="jsonl",
            connection=self.connection(**options),
        )
        assert isinstance(opened, KafkaSource)
        return opened


@pytest.fixture
def secure(kafka: Cluster, tmp_path: Path) -> Secure:
    return Secure(kafka, tmp_path)


def test_a_source_needs_three_rights_and_none_of_a_group(secure: Secure) -> None:
    secure.cluster.create("secret-visits")
    producer = secure.cluster.producer()
    producer.produce("secret-visits", json.dumps({"who": "a"}))
    assert producer.flush(60) == 0
    for right in OF_A_SOURCE:
        with pytest.raises(SourceAway, match="TOPIC_AUTHORIZATION_FAILED"):
            secure.source("secret-visits").at_launch()
        secure.grant("secret-visits", right)
    source = secure.source("secret-visits")
    assert rows_of(source.reading(source.at_launch()), COLUMNS) == [("a",)]


def test_a_sink_needs_its_transactions_too(secure: Secure) -> None:
    secure.cluster.create("secret-releases")
    sink = KafkaSink(secure.url("secret-releases"), secure.connection(), identity="launch")
    (batch,) = sink.batches([release(1)], 0)
    with pytest.raises(Undelivered):
        sink.reached()
    secure.grant("secret-releases", *OF_A_SINK)
    with pytest.raises(Undelivered) as refused:
        sink.send(batch)
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in refused.value.why
    secure.grant("ameles-", *OF_TRANSACTIONS, kind="TRANSACTIONAL_ID")
    assert sink.reached() == 0
    sink.send(batch)
    assert sink.reached() == 1


def test_a_wrong_password(secure: Secure) -> None:
    with pytest.raises(SourceAway, match="_AUTHENTICATION") as refused:
        secure.source("secret-visits", given="wrong").ends()
    assert "wrong" not in str(refused.value)


def test_a_server_whom_nobody_vouches_for(secure: Secure) -> None:
    write_certificates(secure.base)  # of another authority
    source = secure.source("secret-visits", trusts=str(secure.base / "ca.pem"))
    said = "_TRANSPORT"
    for _ in range(20):  # a busy server may close a connection before it has shown its certificate
        with pytest.raises(SourceAway) as refused:
            source.ends()
        said = str(refused.value)
        if "_TRANSPORT" not in said:
            break
    assert "_SSL" in said
