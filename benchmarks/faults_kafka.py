"""Faults of Kafka: kill -9 of Ameles and of brokers, cut connections and networks; 0 violations.

There are three brokers, and three copies of each topic.  Each life is a plan from a topic to a
topic; its program is started again until all steps are released and published.  Then the counts in
the store must be those of what was written, and the topic must have each release once.  Networks
are cut by namespaces of Linux, which needs the rights of root.  The exit code is 1 if anything was
violated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.engine.worlds import World, day
from tests.faults.choices import Choices
from tests.kafka_faults import Fault, KafkaLife, cut_connections, cuts_of, kill_broker
from tests.kafka_server import ADMIN, Cluster, serving, serving_apart
from tests.source_faults import Faults, kill_ameles, mostly

from ameles.connectors.kafka.answers import KafkaAway
from ameles.connectors.kafka.topic import KafkaTopic
from ameles.connectors.source import SourceAway
from ameles.core.exceptions import SourceUnreadable

PARTS: dict[str, tuple[str, Fault | None]] = {
    "ameles": ("kill -9 of Ameles", kill_ameles),
    "connections": ("connections cut", mostly(cut_connections)),
    "brokers": ("kill -9 of a broker", kill_broker),
    "networks": ("a broker cut off by its network", None),
    "elections": ("a partition that lost its end", None),
}


def lives(
    part: str, cluster: Cluster, fault: Fault, args: argparse.Namespace, folder: Path
) -> Faults:
    """Lives until there were enough faults, or the time is over."""
    faults, since = Faults(), time.monotonic()
    for number in count():
        if faults.number >= args.faults or time.monotonic() - since > 60 * args.minutes:
            return faults
        life = KafkaLife(cluster, folder / f"{part}-{number}", proxied=part == "connections")
        life.live(fault, Choices(args.seed, part, number), faults)
        print(f"  {faults.number} faults, violations {len(faults.wrong)}", flush=True)
        shutil.rmtree(life.folder)
    return faults


def elections(cluster: Cluster, args: argparse.Namespace, folder: Path) -> Faults:
    """A copy that was behind becomes the leader: what was read is gone, and that is refused."""
    faults = Faults()
    for number in range(args.elections):
        topic = f"cut-{number}"
        settings = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        new = ADMIN.NewTopic(topic, 1, replica_assignment=[[1, 2]], config=settings)
        admin = cluster.admin()
        admin.create_topics([new])[topic].result()
        world = World(folder / topic, stream='format = "jsonl"')
        world.text = world.text.replace("events.csv", cluster.url(topic))
        write(cluster, topic, 1, 3)
        run(world, 1)
        first, second = cluster.brokers[:2]
        second.kill()
        write(cluster, topic, 2, 4)
        settle(KafkaTopic.at(cluster.url(topic)), 7)
        run(world, 2)  # these messages are read, and only the first broker has them
        if world.values() != [3, 7]:
            faults.wrong.append(f"election {number}: the messages before it were not read")
        first.kill()
        second.start()
        write(cluster, topic, 3, 9)
        try:
            run(world, 3)
            faults.wrong.append(f"election {number}: a partition that was cut is read on")
        except SourceUnreadable as refused:
            if "removed before they were read" not in refused.what:
                faults.wrong.append(f"election {number}: {refused.what}")
        faults.number += 1
        first.start()
        cluster.wait()
    return faults


def run(world: World, step: int) -> None:
    """Releases a step as soon as the leader of the partition is known to all."""
    deadline = time.monotonic() + 600
    while True:
        try:
            world.run(step)
            return
        except SourceAway:
            if time.monotonic() > deadline:
                raise


def settle(topic: KafkaTopic, end: int) -> None:
    """Waits until the leader no longer waits for the copy that is away."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with suppress(KafkaAway):
            if topic.look().partitions[0].end == end:
                return
        time.sleep(0.2)
    raise RuntimeError("the leader waits for its copy")


def write(cluster: Cluster, topic: str, number: int, times: int) -> None:
    """Messages of a day, acknowledged by the leader."""
    producer = cluster.producer(acks=1, message_timeout_ms=600_000)
    for _ in range(times):
        at = f"{day(number, 10):%Y-%m-%dT%H:%M:%SZ}"
        producer.produce(topic, f'{{"at": "{at}", "region": "north"}}', partition=0)
    if producer.flush(600):
        raise RuntimeError("the writer of events cannot write")


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[], help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--faults", type=int, default=300, help="of each part")
    parser.add_argument("--elections", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=30.0, help="the most for each part")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    """All parts, and what came of them."""
    args = asked()
    lines, wrong = [], 0
    for part in args.parts or PARTS:
        title, _ = PARTS[part]
        print(title, flush=True)
        since = time.monotonic()
        with tempfile.TemporaryDirectory() as name, cluster_for(part, Path(name)) as served:
            cluster, fault = served
            if fault is None:
                faults = elections(cluster, args, Path(name))
            else:
                faults = lives(part, cluster, fault, args, Path(name))
        took = time.monotonic() - since
        lines.append(
            f"{title:34} {faults.number:5}   violations {len(faults.wrong)}   {took:.0f} s"
        )
        lines += [f"  {one}" for one in faults.wrong]
        wrong += len(faults.wrong)
    print("\n".join(lines))
    return 1 if wrong else 0


@contextmanager
def cluster_for(part: str, folder: Path) -> Iterator[tuple[Cluster, Fault | None]]:
    """Three brokers and their fault, each in a network of its own if networks are cut."""
    if part == "networks":
        with serving_apart(folder, 3) as (cluster, apart):
            yield cluster, cuts_of(apart)
    else:
        with serving(folder, 3) as cluster:
            yield cluster, PARTS[part][1]


if __name__ == "__main__":
    sys.exit(main())
