"""Topics of a real Kafka: each message counts once."""

from __future__ import annotations

import json
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

from ameles.connectors.format import Format
from ameles.connectors.kafka.source import KafkaSource
from ameles.connectors.sources import open_source
from ameles.connectors.typed_columns import KEY
from ameles.core.exceptions import PlanError
from tests.connectors.kafka.kafka_messages import AT, COLUMNS, Messages, messages
from tests.connectors.reading import rows, rows_of
from tests.kafka_server import ADMIN, Cluster

__all__ = ["messages"]  # a fixture


def test_the_fields_of_a_message_are_columns(messages: Messages) -> None:
    messages.put(json.dumps({"who": "ann", "amount": 1.5, "at": AT}).encode())
    messages.put(
        b'{"who": "line\\nbreak",\n "amount": "no number"}', headers={"who": b"x"}, key="k"
    )
    messages.put(b'{"who": "broken \xff id", "amount": 2}')
    for hostile in (None, b"", b"\x00\xff\xfe\x80", b"[]", b"null", b'{"who": 1', b'{"a": "\x00"}'):
        messages.put(hostile)
    at = 1_767_348_000_000_000
    expected = [("ann", 1.5, at), ("line\nbreak", None, None), (None, 2.0, None)]
    assert rows(messages.source(), COLUMNS) == sorted(expected, key=repr)
    url, keys = messages.cluster.url(messages.name), {"who": KEY, "amount": "number"}
    keyed = open_source(url, keys, messages.base, records="jsonl")
    assert isinstance(keyed, KafkaSource)
    sound = [one[:2] for one in expected]  # a broken text is no key
    assert rows(keyed, keys) == sorted(sound, key=repr)


def test_a_message_over_1_mib_counts_nowhere(kafka: Cluster, tmp_path: Path) -> None:
    messages = Messages(kafka, tmp_path, max_message_bytes="4000000")
    messages.producer = kafka.producer(message_max_bytes=4_000_000)
    size = 1 << 20
    messages.add("a", "b" * size, "c")
    exact = b'{"who": "%s"}'
    messages.put(exact % (b"d" * (size - len(exact) + 2)))
    assert [who[0] for who in messages.launch().read()] == ["a", "c", "d"]


def test_messages_of_csv(messages: Messages) -> None:
    for value in (b"ann,1,2026-01-02T10:00:00Z", b"bob,2,\r\n", b'"c\nd",3,', b'"e,""f",4,'):
        messages.put(value)
    with pytest.raises(PlanError, match="CSV messages need header"):
        messages.source("csv")
    form = Format(header=("who", "amount", "at"))
    url = messages.cluster.url(messages.name)
    source = open_source(url, COLUMNS, messages.base, records="csv", form=form)
    assert isinstance(source, KafkaSource)
    assert [row[:2] for row in rows(source, COLUMNS)] == [("ann", 1.0), ("bob", 2.0), ('e,"f', 4.0)]


def test_every_message_is_read_once(messages: Messages) -> None:
    messages.add("before the launch")
    messages.launch()
    messages.add(*"abcdefg")
    assert messages.read() == sorted([*"abcdefg", "before the launch"])
    assert messages.read() == []
    messages.add("h")
    assert messages.read() == ["h"]


def test_ends_are_where_the_topic_was(messages: Messages) -> None:
    messages.launch()
    messages.add("a")
    source = messages.source()
    ends = source.ends()
    messages.add("b")
    reading = source.reading(messages.position, ends)
    assert [row[0] for row in rows_of(reading, COLUMNS)] == ["a"]
    messages.position = reading.position
    assert messages.read() == ["b"]


def test_a_piece_is_read_by_another_process(messages: Messages) -> None:
    messages.launch()
    messages.add("a")
    reading = messages.source().reading(messages.position)
    messages.add("b")
    again = ForkingPickler.loads(ForkingPickler.dumps(reading))
    assert rows_of(again, COLUMNS) == rows_of(reading, COLUMNS)
    assert [repr(piece) for piece in again.pieces] == ["<KafkaPiece>"]


def test_a_piece_is_cut_by_offsets(messages: Messages) -> None:
    messages.launch()
    messages.add(*"abcde")
    messages.transaction("x", commit=False)
    messages.add(*"fg")
    reading = messages.source().reading(messages.position)
    for size, parts in ((1, 9), (250, 5), (10_000, 1)):
        cut = reading.cut(size)
        assert len(cut.pieces) == parts
        assert [row[0] for row in rows_of(cut, COLUMNS)] == [*"abcdefg"]


def test_a_reader_leaves_no_trace(messages: Messages) -> None:
    admin = messages.cluster.admin()

    def groups() -> set[str]:
        return {group.group_id for group in admin.list_consumer_groups().result().valid}

    before = groups()
    messages.add("a")
    messages.launch().read()
    assert groups() == before


class TestTransactions:
    def test_those_that_were_given_up_count_nowhere(self, messages: Messages) -> None:
        messages.launch()
        messages.transaction("a", "b")
        messages.transaction("x", "y", commit=False)
        assert messages.read() == ["a", "b"]
        assert messages.read() == []
        messages.transaction("z", commit=False)
        assert messages.read() == []
        messages.transaction("c")
        assert messages.read() == ["c"]

    def test_messages_after_an_open_one_wait(self, messages: Messages) -> None:
        messages.launch()
        messages.add("a")
        writer = messages.open_transaction("b")
        messages.add("c")
        assert messages.read() == ["a"]
        assert messages.read() == []
        writer.commit_transaction()
        messages.settle()
        assert messages.read() == ["b", "c"]


class TestPartitions:
    def test_new_ones_are_read_from_their_start(self, kafka: Cluster, tmp_path: Path) -> None:
        messages = Messages(kafka, tmp_path, partitions=2).launch()
        messages.add("a", partition=0)
        messages.add("b", partition=1)
        assert messages.read() == ["a", "b"]
        admin = kafka.admin()
        admin.create_partitions([ADMIN.NewPartitions(messages.name, 3)])[messages.name].result()
        messages.producer = kafka.producer()
        messages.add("c", partition=2)
        messages.add("d", partition=0)
        assert messages.read() == ["c", "d"]
        assert messages.read() == []

    def test_a_topic_that_is_not_there_yet(self, kafka: Cluster, tmp_path: Path) -> None:
        messages = Messages(kafka, tmp_path, create=False)
        with pytest.raises(PlanError, match="no topic"):
            open_source(kafka.url(messages.name), COLUMNS, tmp_path, records="jsonl")
        assert messages.launch().read() == []
        kafka.create(messages.name, 2)
        messages.add("a", partition=1)
        assert messages.read() == ["a"]
        messages.remove(1, partition=1)
        assert messages.read() == []
