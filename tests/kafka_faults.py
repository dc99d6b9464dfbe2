"""Lives of a plan from a topic to a topic, with faults: every event counts once, every release is
published once, and both are what they would be without a fault.

The program runs in processes of its own, with removable noise: a released value modulo a million is
the true count.  ``benchmarks/faults_kafka.py`` lives many lives, the tests a few.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.running import remote_delivery
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests import warm_processes
from tests.engine.worlds import COUNT, World, day
from tests.faults.choices import Choices
from tests.faults.removable_noise import MILLION, RemovableNoise
from tests.kafka_server import Cluster

REGIONS = ("north", "south")
RELEASES = COUNT + COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
_PATIENCE = 600.0  # seconds
_names = count()
Running: TypeAlias = subprocess.Popen[Any]
# Does something to a life while the program runs; says whether it came in time.
Fault: TypeAlias = Callable[["KafkaLife", Running, Choices], bool]


@dataclass
class Faults:
    """How many there were, and what was violated."""

    number: int = 0
    wrong: list[str] = field(default_factory=list)


class KafkaLife:
    """One stream from its first step to its last."""

    def __init__(
        self, cluster: Cluster, folder: Path, *, steps: int = 8, proxied: bool = False
    ) -> None:
        self.steps = steps
        self.span = 1.0  # seconds in which a run is mostly done; each life finds its own
        self.cluster = cluster
        self.folder = folder
        name = f"life-{folder.name}-{next(_names)}"
        self.source, self.sink = f"{name}-in", f"{name}-out"
        copies = min(3, len(cluster.brokers))
        for topic, partitions in ((self.source, 3), (self.sink, 1)):
            least = str(max(1, copies - 1))
            cluster.create(topic, partitions, copies, min_insync_replicas=least)
        sink = f'[[sink]]\nkafka = "{cluster.url(self.sink, proxied=proxied)}"\n'
        world = World(folder, RELEASES, horizon=steps, stream='format = "jsonl"', rest=sink)
        source = cluster.url(self.source, proxied=proxied)
        (folder / "plan.toml").write_text(world.text.replace("events.csv", source))
        self.world = world
        self._writer = cluster.producer(enable_idempotence=True, message_timeout_ms=600_000)
        self.truth: dict[tuple[int, str], int] = {}

    def live(self, fault: Fault, choices: Choices, faults: Faults) -> None:
        """All steps, each started again until it is released and published."""
        for step in range(1, self.steps + 1):
            self._write(step, choices)
            since = time.monotonic()
            while True:
                with self.process(step) as running:
                    faults.number += fault(self, running, choices)
                    if running.wait(_PATIENCE) == 0:
                        break
                if time.monotonic() - since > _PATIENCE:
                    faults.wrong.append(f"step {step} does not end")
                    return
        faults.wrong += self.violations()

    def _write(self, step: int, choices: Choices) -> None:
        for region in REGIONS:
            self.truth[step, region] = number = 1 + choices.below(200)
            for n in range(number):
                event = {"at": f"{day(step, 10):%Y-%m-%dT%H:%M:%SZ}", "region": region}
                self._writer.produce(self.source, json.dumps(event), partition=n % 3)
        if self._writer.flush(_PATIENCE):
            raise RuntimeError("the writer of events cannot write")

    @contextmanager
    def process(self, step: int) -> Iterator[subprocess.Popen[Any]]:
        """A process that releases all steps up to this one."""
        code = f"from tests.kafka_faults import victim; victim({str(self.folder)!r}, {step})"
        nowhere = subprocess.DEVNULL
        with warm_processes.start("-c", code, stdout=nowhere, stderr=nowhere) as running:
            try:
                yield running
            finally:
                running.kill()

    def violations(self) -> Iterator[str]:
        """What is not as it would be without a fault."""
        stored = {(one.release, one.key, one.step): one.value for one in self.world.releases()}
        totals = dict.fromkeys(REGIONS, 0)
        for step in range(1, self.steps + 1):
            for region in REGIONS:
                totals[region] += self.truth[step, region]
                true = {"daily": self.truth[step, region], "visits": totals[region]}
                for release, expected in true.items():
                    value = stored.get((release, region, step))
                    if value is None or int(value) % MILLION != expected:
                        yield f"{release} {region} {step} is not what was written"
        sent = self.published()
        if [key for key, _ in sent] != sorted((key for key, _ in sent), key=lambda key: key[2]):
            yield "the topic is not in order"
        if len(sent) != len({key for key, _ in sent}):
            yield "the topic has a release twice"
        if dict(sent) != stored:
            yield "the topic differs from the store"

    def published(self) -> list[tuple[tuple[Any, ...], Any]]:
        """What a reader of committed messages sees."""
        return [(tuple(key[1:]), value["value"]) for key, value in self.cluster.read(self.sink)]


def victim(folder: str, step: int) -> None:
    """The program: releases all steps up to one, or says why not."""
    remote_delivery.FIRST = 0.05
    plan = read_plan(Path(folder) / "plan.toml")
    try:
        with open_store(str(Path(folder) / "s.db")) as store:
            Engine(plan, store, noise=RemovableNoise()).run(day(step + 1, 0))
    except AmelesError as problem:
        sys.exit(str(problem))


def kill_ameles(life: KafkaLife, running: Running, choices: Choices) -> bool:
    """Kill -9 of the program at some moment, mostly before it is done."""
    time.sleep(choices.upto(life.span))
    running.kill()
    killed = running.wait(_PATIENCE) == -signal.SIGKILL
    life.span *= 1.05 if killed else 0.8
    return killed


def cut_connections(life: KafkaLife, running: Running, choices: Choices) -> bool:
    """All connections end after some bytes, and none is taken until the program has ended."""
    proxies = [broker.proxy for broker in life.cluster.brokers]
    before = [proxy.cuts for proxy in proxies]
    for proxy in proxies:
        proxy.cut_after(choices.below(12_000))
    running.wait(_PATIENCE)
    for proxy in proxies:
        proxy.mend()
    return before != [proxy.cuts for proxy in proxies]


def kill_broker(life: KafkaLife, running: Running, choices: Choices) -> bool:
    """Kill -9 of a broker while the program runs; it is back before the next one is killed."""
    time.sleep(choices.upto(1.0))
    broker = life.cluster.brokers[choices.below(len(life.cluster.brokers))]
    broker.kill()
    time.sleep(choices.upto(2.0))
    broker.start()
    running.wait(_PATIENCE)
    life.cluster.wait()
    return True
