"""A real Kafka for tests: brokers on ports of their own; they end with the tests, even if they are
killed.

Each also listens by TLS, where ``USER`` signs in and may do what a test grants; without TLS
everybody may do everything.

The jars come from Maven Central, by the versions in ``tests/kafka/pom.xml``: ``tests/kafka/fetch``
fetches them once.
"""

from __future__ import annotations

import importlib
import json
import shutil
import signal
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.kafka_certificates import write_certificates
from tests.networks import Networks, networks
from tests.postgres import end_with_parent
from tests.tcp_proxy import Proxy

ADMIN: Any = importlib.import_module("confluent_kafka.admin")
JARS = Path(__file__).parents[1] / ".kafka" / "jars"
MISSING = (
    "needs Java and the jars of Kafka (Debian: default-jre-headless, maven; tests/kafka/fetch)"
)
USER, SIGN_IN = "ann", "hush-hush"
_PATIENCE = 600.0  # seconds after which a server has died, on any machine
_PASSING = (  # what is said while a broker comes, goes, or has no time
    *("_DESTROY_BROKER", "_TIMED_OUT", "_TRANSPORT", "REQUEST_TIMED_OUT", "NOT_CONTROLLER"),
    "INVALID_REPLICATION_FACTOR",
)
_CLUSTER = urlsafe_b64encode(b"ameles-test-0001").decode().rstrip("=")
_JAVA = ("java", "-Xmx256m", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,"
    "SECURE:SASL_SSL",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.secure.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
    f'PlainLoginModule required user_{USER}="{SIGN_IN}";',
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "server.pem",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.check.interval.ms": "100",
    "log.segment.delete.delay.ms": "0",
    "log.cleaner.enable": "false",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "3600000",
}


def installed() -> bool:
    """Whether brokers can be started."""
    return shutil.which("java") is not None and JARS.is_dir()


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Broker:
    """A server that can be killed and started again; its topics stay."""

    def __init__(
        self, folder: Path, number: int, voters: str, places: Sequence[str], within: Sequence[str]
    ) -> None:
        self.folder = folder
        self.number = number
        controller, at, behind, self.secure = places
        self._within = within  # a command that runs commands, such as one in a network of its own
        self.address = at
        self.proxy = Proxy()  # another way to it, which can be cut
        self.proxy.target = behind
        self._settings = {
            **_SETTINGS,
            "node.id": str(number),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://{at},CONTROLLER://{controller},PROXIED://{behind},"
            f"SECURE://{self.secure}",
            "advertised.listeners": f"PLAINTEXT://{at},PROXIED://{self.proxy.address},"
            f"SECURE://{self.secure}",
            "log.dirs": str(folder / "logs"),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def create(self, **settings: str) -> None:
        """An empty folder of logs, as the command that formats one leaves it."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        lines = [f"{name}={value}" for name, value in {**self._settings, **named}.items()]
        (self.folder / "logs").mkdir(parents=True)
        write_certificates(self.folder)
        (self.folder / "server.properties").write_text("\n".join(lines))
        (self.folder / "logs" / "meta.properties").write_text(
            f"version=1\ncluster.id={_CLUSTER}\nnode.id={self.number}\n"
        )

    def start(self) -> None:
        """Starts it, and returns at once."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._within, *_JAVA, "-cp", f"{JARS}/*", "kafka.Kafka", "server.properties"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=partial(end_with_parent, signal.SIGKILL),  # Java goes on after SIGQUIT
            )

    @property
    def died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """As in a crash."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_PATIENCE)
            self._process = None


class Cluster:
    """Brokers that are one cluster."""

    def __init__(self, brokers: Sequence[Broker]) -> None:
        self.brokers = list(brokers)

    @property
    def servers(self) -> str:
        """Where clients reach them."""
        return ",".join(broker.address for broker in self.brokers)

    def url(self, topic: str, *, proxied: bool = False) -> str:
        """The source or sink of a plan."""
        proxies = ",".join(broker.proxy.address for broker in self.brokers)
        return f"kafka://{proxies if proxied else self.servers}/{topic}"

    def options(self, **more: Any) -> dict[str, Any]:
        """Of a client of the writer of events."""
        named = {name.replace("_", "."): value for name, value in more.items()}
        return {"bootstrap.servers": self.servers, "log_level": 0, **named}

    def admin(self) -> Any:
        return ADMIN.AdminClient(self.options())

    def create(self, topic: str, partitions: int = 1, copies: int = 1, **settings: str) -> None:
        """A new topic; each test has names of its own."""
        config = {name.replace("_", "."): value for name, value in settings.items()}
        new = ADMIN.NewTopic(topic, partitions, copies, config=config)
        deadline = time.monotonic() + _PATIENCE
        while True:
            admin = self.admin()  # it must live until the answer comes
            try:
                admin.create_topics([new])[topic].result()
                return
            except KafkaException as problem:
                name = problem.args[0].name()
            if name == "TOPIC_ALREADY_EXISTS":  # an answer was lost, and the client asked again
                return
            if name not in _PASSING or time.monotonic() > deadline:
                raise RuntimeError(f"a topic cannot be created: {name}")
            time.sleep(0.1)

    def producer(self, **more: Any) -> Producer:
        return Producer(self.options(linger_ms=0, **more))

    def read(self, topic: str) -> list[tuple[Any, Any]]:
        """The committed messages of partition 0, in order: keys and values of JSON."""
        options = {"group.id": "reader", "enable.partition.eof": True, "enable.auto.commit": False}
        consumer = Consumer(self.options(isolation_level="read_committed") | options)
        consumer.assign([TopicPartition(topic, 0, 0)])
        read: list[tuple[Any, Any]] = []
        try:
            while True:
                message = consumer.poll(1)
                if message is not None and message.error() is not None:
                    return read
                if message is not None:
                    key, value = message.key() or b"null", message.value() or b"null"
                    read.append((json.loads(key), json.loads(value)))
        finally:
            consumer.close()

    def wait(self) -> None:
        """Waits until all answer."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                about = self.admin().list_topics(timeout=1)
            except KafkaException:
                about = None
            if about is not None and len(about.brokers) == len(self.brokers):
                return
            if any(broker.died for broker in self.brokers) or time.monotonic() > deadline:
                raise RuntimeError((self.brokers[0].folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """All brokers."""
        for broker in self.brokers:
            broker.kill()


@contextmanager
def serving_apart(folder: Path, size: int) -> Iterator[tuple[Cluster, Networks]]:
    """A new cluster of brokers in networks of their own."""
    with (
        networks(size) as apart,
        serving(folder, size, hosts=apart.hosts, within=apart.inside) as cluster,
    ):
        yield cluster, apart


@contextmanager
def serving(
    folder: Path,
    size: int = 1,
    *,
    hosts: Sequence[str] = (),
    within: Sequence[Sequence[str]] = (),
    **settings: str,
) -> Iterator[Cluster]:
    """A new cluster of some brokers, each on its host and within its network."""
    if not installed():
        raise RuntimeError(MISSING)
    ports = free_ports(4 * size)
    own = {
        number: [f"{host}:{port}" for port in ports[4 * number - 4 : 4 * number]]
        for number, host in enumerate(hosts or ["127.0.0.1"] * size, start=1)
    }
    voters = ",".join(f"{number}@{places[0]}" for number, places in own.items())
    copies = str(min(size, 3))
    several = {"broker_session_timeout_ms": "3000"} if size > 1 else {}  # leaders soon have heirs
    cluster = Cluster(
        [
            Broker(folder / str(number), number, voters, places, inside)
            for (number, places), inside in zip(own.items(), within or [()] * size, strict=True)
        ]
    )
    try:
        for broker in cluster.brokers:
            broker.create(
                offsets_topic_replication_factor=copies,
                transaction_state_log_replication_factor=copies,
                transaction_state_log_min_isr="1" if size == 1 else "2",
                **{**several, **settings},
            )
            broker.start()
        cluster.wait()
        yield cluster
    finally:
        cluster.kill()
