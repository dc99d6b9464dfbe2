"""Lives of a plan from a topic to a topic, with faults of brokers and of connections to them.

``benchmarks/faults_kafka.py`` lives many lives, the tests a few.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from tests.faults.choices import Choices
from tests.kafka_server import Cluster
from tests.networks import Networks
from tests.source_faults import PATIENCE, Running, SourceLife

_names = count()


class KafkaLife(SourceLife):
    """One stream, from a topic with three partitions."""

    def __init__(
        self, cluster: Cluster, folder: Path, *, steps: int = 8, proxied: bool = False
    ) -> None:
        self.cluster = cluster
        name = f"life-{folder.name}-{next(_names)}"
        self.source, self.sink = f"{name}-in", f"{name}-out"
        copies = min(3, len(cluster.brokers))
        for topic, partitions in ((self.source, 3), (self.sink, 1)):
            least = str(max(1, copies - 1))
            cluster.create(topic, partitions, copies, min_insync_replicas=least)
        sink = f'kafka = "{cluster.url(self.sink, proxied=proxied)}"'
        source = cluster.url(self.source, proxied=proxied)
        super().__init__(folder, source, sink, steps=steps, stream='format = "jsonl"')
        self._writer = cluster.producer(enable_idempotence=True, message_timeout_ms=600_000)

    def write(self, at: str, region: str, number: int) -> None:
        for n in range(number):
            event = json.dumps({"at": at, "region": region})
            self._writer.produce(self.source, event, partition=n % 3)
        if self._writer.flush(PATIENCE):
            raise RuntimeError("the writer of events cannot write")

    def published(self) -> list[tuple[tuple[Any, ...], Any]]:
        """What a reader of committed messages sees."""
        return [(tuple(key[1:]), value["value"]) for key, value in self.cluster.read(self.sink)]


# Does something to a life while the program runs; says whether it came in time.
Fault: TypeAlias = Callable[[KafkaLife, Running, Choices], bool]


def cut_connections(life: KafkaLife, running: Running, choices: Choices) -> bool:
    """All connections end after some bytes, and none is taken until the program has ended."""
    proxies = [broker.proxy for broker in life.cluster.brokers]
    before = [proxy.cuts for proxy in proxies]
    for proxy in proxies:
        proxy.cut_after(choices.below(12_000))
    running.wait(PATIENCE)
    for proxy in proxies:
        proxy.mend()
    return before != [proxy.cuts for proxy in proxies]


def kill_broker(life: KafkaLife, running: Running, choices: Choices) -> bool:
    """Kill -9 of a broker while the program runs; it is back before the next one is killed."""
    choices.sleep(life.span)
    broker = life.cluster.brokers[choices.below(len(life.cluster.brokers))]
    in_time = _is_in_time(life, running)
    broker.kill()
    choices.sleep(2.0)
    broker.start()
    running.wait(PATIENCE)
    life.cluster.wait()
    return in_time


def cuts_of(networks: Networks, seconds: float = 4.0) -> Fault:
    """The fault of one of the networks in which brokers are."""

    def cut_network(life: KafkaLife, running: Running, choices: Choices) -> bool:
        """A broker is cut off from the others and from the program, and comes back."""
        choices.sleep(life.span)
        place = choices.below(len(life.cluster.brokers))
        in_time = _is_in_time(life, running)
        networks.cut(place)
        choices.sleep(seconds)
        networks.mend(place)
        running.wait(PATIENCE)
        life.cluster.wait()
        return in_time

    return cut_network


def _is_in_time(life: KafkaLife, running: Running) -> bool:
    """Whether the program still runs; the next fault comes earlier if not."""
    runs = running.poll() is None
    life.span *= 1.05 if runs else 0.8
    return runs
