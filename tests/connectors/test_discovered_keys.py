"""Messages of streams whose keys are discovered: steps without a row, and hostile keys."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

from tests.connectors.test_sparse_sinks import KEYS
from tests.connectors.webhook.webhook_receiver import receiving
from tests.engine.tags import Event, Tags
from tests.engine.test_discovered_streams import Passing
from tests.kafka_server import Cluster

PRIVACY = "epsilon = 300\ndelta = 0.01"
_names = count()


def followed(folder: Path, sink: str) -> list[tuple[int, str, float | None]]:
    """Runs a stream whose keys are found at the third step; the rows that its store has."""
    tags = Tags(folder, privacy=PRIVACY, rest=sink)
    tags.append(Event(3, f"{n}-{key}", key) for n, key in enumerate(20 * KEYS))
    for step in (1, 2, 3, 5):
        tags.run(step, noise=Passing())
    return sorted((row.step, row.key, row.value) for row in tags.releases())


def test_a_webhook_gets_every_key_as_it_is(tmp_path: Path) -> None:
    with receiving() as receiver:
        stored = followed(tmp_path, receiver.plan(tmp_path))
        told = [json.loads(message.body)["data"] for message in receiver.messages]
    rows = [(one["step"], row["key"], row["value"]) for one in told for row in one["releases"]]
    assert sorted(rows) == stored
    assert {key for _, key, _ in rows} == set(KEYS)


def test_a_topic_gets_every_key_as_it_is(kafka: Cluster, tmp_path: Path) -> None:
    name = f"discovered-{next(_names)}"
    kafka.create(name)
    stored = followed(tmp_path, f'[[sink]]\nkafka = "{kafka.url(name)}"\n')
    read = [value for _, value in kafka.read(name)]
    assert sorted((one["step"], one["key"], one["value"]) for one in read) == stored
    assert {one["key"] for one in read} == set(KEYS)
