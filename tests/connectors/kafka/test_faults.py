"""A few lives of ``benchmarks/faults_kafka.py``, and whether it finds what it looks for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.choices import Choices
from tests.kafka_faults import KafkaLife, cut_connections
from tests.kafka_server import Cluster
from tests.source_faults import Faults, kill_ameles, mostly


def test_killed_and_cut_off_nothing_is_lost_or_doubled(kafka: Cluster, tmp_path: Path) -> None:
    for fault in (kill_ameles, cut_connections):
        faults = Faults()
        proxied = fault is cut_connections
        life = KafkaLife(kafka, tmp_path / fault.__name__, steps=3, proxied=proxied)
        life.live(mostly(fault), Choices(fault.__name__), faults)
        assert faults.wrong == []
        assert faults.number
    producer = kafka.producer()
    key, value = ["launch", "daily", "north", 2], {"value": 7}
    producer.produce(life.sink, json.dumps(value), json.dumps(key), partition=0)
    assert producer.flush(60) == 0
    life.truth[1, "south"] += 1
    found = {one.partition(" ")[0] + one.partition(" ")[2][:5] for one in life.violations()}
    assert found == {"dailysouth", "visitssouth", "thesink "}
    assert len([one for one in life.violations() if one.startswith("the sink")]) == 3
