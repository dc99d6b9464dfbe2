"""Messages of a topic that are gone: none is lost without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ameles.connectors.kafka.settling import SETTLE
from ameles.connectors.kafka.source import KafkaPiece
from ameles.connectors.reading import Skipped
from ameles.core.exceptions import SourceUnreadable
from tests.connectors.kafka.kafka_messages import COLUMNS, Messages, MovedClock, clock, messages
from tests.connectors.reading import rows_of
from tests.kafka_server import ADMIN

__all__ = ["clock", "messages"]  # fixtures


class TestGaps:
    def test_messages_that_were_read_may_go(self, messages: Messages) -> None:
        messages.add("before")
        messages.remove(1)
        messages.launch()
        messages.add("a", "b")
        assert messages.read() == ["a", "b"]
        messages.remove(3)
        messages.add("c")
        assert messages.read() == ["c"]

    @pytest.mark.parametrize("how", ["first", "all", "deleted", "another", "new partition"])
    def test_messages_that_were_not_read_may_not(
        self, messages: Messages, clock: MovedClock, how: str
    ) -> None:
        messages.launch()
        messages.add("a")
        messages.read()
        messages.add(*"bcd")
        place = f"partition 0 of the topic {messages.name!r}"
        left = {"first": ["d"], "another": ["e"], "new partition": ["b", "c", "d"]}.get(how, [])
        match how:
            case "first":
                messages.remove(3)
            case "all":
                messages.remove(4)
            case "new partition":
                admin = messages.cluster.admin()
                admin.create_partitions([ADMIN.NewPartitions(messages.name, 2)])[
                    messages.name
                ].result()
                messages.producer = messages.cluster.producer()
                messages.add("x", partition=1)
                messages.remove(1, partition=1)
                place = place.replace("partition 0", "partition 1")
            case _:
                place = f"the topic {messages.name!r}"
                messages.delete()
        if how == "another":
            messages.cluster.create(messages.name)
            messages.producer = messages.cluster.producer()
            messages.add("e")
        for _ in range(2):
            with pytest.raises(SourceUnreadable, match="removed before they were read"):
                messages.read()
        assert bool(clock.now) == (how == "deleted")  # the others are certain at once
        source = messages.source(skip_gap="removed by mistake")
        reading = source.reading(messages.position)
        assert reading.gaps == (Skipped(place, "removed by mistake"),)
        assert [row[0] for row in rows_of(reading, COLUMNS)] == left
        messages.position = reading.position
        if how != "deleted":
            messages.add("f")
            assert messages.read() == ["f"]

    def test_nothing_is_skipped_where_nothing_is_missing(self, messages: Messages) -> None:
        messages.launch()
        messages.add("a")
        assert messages.source(skip_gap="who knows").reading(messages.position).gaps == ()
        assert messages.read(skip_gap="who knows") == ["a"]

    def test_a_declaration_is_about_the_next_reading_alone(self, messages: Messages) -> None:
        source = messages.launch().source(skip_gap="who knows")
        messages.add("a")
        position = source.reading(messages.position).position
        messages.add("b", "c")
        messages.remove(2)
        with pytest.raises(SourceUnreadable, match="removed before"):
            source.reading(position)

    def test_what_goes_between_a_look_and_the_reading(self, messages: Messages) -> None:
        messages.launch()
        messages.add(*"abc")
        reading = messages.source().reading(messages.position)
        messages.remove(2)
        with pytest.raises(SourceUnreadable, match="removed before"):
            rows_of(reading, COLUMNS)

    def test_a_topic_that_is_replaced_while_it_is_read(self, messages: Messages) -> None:
        messages.launch()
        messages.add("a")
        reading = messages.source().reading(messages.position)
        messages.delete()
        messages.cluster.create(messages.name)
        messages.producer = messages.cluster.producer()
        messages.add("b", "c")
        with pytest.raises(SourceUnreadable, match="removed before"):
            rows_of(reading, COLUMNS)

    def test_a_partition_that_ends_before_what_was_seen(
        self, messages: Messages, clock: MovedClock
    ) -> None:
        messages.launch()
        messages.add("a")
        source = messages.source()
        ends = source.ends()
        longer = {0: replace(ends.partitions[0], end=3)}
        reading = source.reading(messages.position, replace(ends, partitions=longer))
        with pytest.raises(SourceUnreadable, match="removed before"):
            rows_of(reading, COLUMNS)
        assert clock.now >= SETTLE

    def test_ends_of_a_broker_that_had_just_started(
        self, messages: Messages, clock: MovedClock
    ) -> None:
        """A step keeps the ends of its time; they are looked at again."""
        messages.launch()
        messages.add("a")
        source = messages.source()
        ends = source.ends()
        reading = source.reading(messages.position, replace(ends, partitions={}))
        assert [row[0] for row in rows_of(reading, COLUMNS)] == ["a"]
        shorter = {0: replace(ends.partitions[0], end=0)}
        messages.position = reading.position
        assert not source.reading(messages.position, replace(ends, partitions=shorter)).pieces
        messages.add("b")
        assert messages.read() == ["b"]

    def test_the_epoch_of_the_leader_is_kept(self, messages: Messages) -> None:
        """The broker compares it: after an election it tells a partition that lost its end."""
        messages.launch()
        epochs: list[list[int | None]] = []
        for who in ("a", "", "b"):
            messages.add(*who)
            reading = messages.source().reading(messages.position)
            epochs.append(
                [piece.range.epoch for piece in reading.pieces if isinstance(piece, KafkaPiece)]
            )
            messages.position = reading.position
        assert epochs == [[None], [], [0]]

    @pytest.mark.parametrize("policy", ["compact", "compact,delete"])
    def test_compacted_topics_are_refused(self, messages: Messages, policy: str) -> None:
        messages.add("a")
        messages.launch()
        entry = ADMIN.ConfigEntry(
            "cleanup.policy", policy, incremental_operation=ADMIN.AlterConfigOpType.SET
        )
        topic = ADMIN.ConfigResource(
            ADMIN.ConfigResource.Type.TOPIC, messages.name, incremental_configs=[entry]
        )
        admin = messages.cluster.admin()
        admin.incremental_alter_configs([topic])[topic].result()
        for refused in (messages.read, messages.launch):
            with pytest.raises(SourceUnreadable, match="is compacted"):
                refused()
