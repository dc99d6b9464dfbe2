"""A topic of Kafka: its address, clients for it, and where its partitions begin and end.

Clients are opened for one use and closed after it, so that nothing of them crosses a fork.  What
they say is not shown, because it may quote the connection file; only the names of errors are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

from ameles.connectors.connection_file import read_connection
from ameles.connectors.kafka.answers import KafkaAway, answer, offsets
from ameles.connectors.kafka.driver import driver
from ameles.core.exceptions import PlanError

EXAMPLE = "kafka://localhost:9092/visits"
TIMEOUT = 10.0  # seconds for an answer
_ADDRESS = re.compile(r"kafka://([^/?#]+)/([A-Za-z0-9._-]{1,249})")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_PORT = 9092
# What a connection file may say: how servers are reached, not how they are read.
_OPTIONS = re.compile(
    r"(sasl|ssl|security|socket|broker|client|reconnect|enable\.ssl)\..+|bootstrap\.servers"
)
_MOST = (1 << 31) - 1  # bytes of an answer: a message of any size is read, and then left out
_CLOSED = "_TRANSPORT"
_DOWN = "_ALL_BROKERS_DOWN"
_Kind: TypeAlias = Callable[[dict[str, Any]], Any]
MISSING = "UNKNOWN_TOPIC_OR_PART"
_UNKNOWN = (MISSING, "UNKNOWN_TOPIC_ID")


@dataclass(frozen=True, slots=True)
class Partition:
    """Where a partition begins and ends; the epoch of its leader tells whether it was cut."""

    first: int = field(repr=False)
    end: int = field(repr=False)  # after the last message whose transaction has ended
    epoch: int | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TopicState:
    """What a topic was like at some moment."""

    id: str | None  # no other topic ever has it, not even one of the same name; None: no topic
    compacted: bool
    partitions: Mapping[int, Partition] = field(repr=False)


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """The name of a topic, and how its servers are reached."""

    servers: str
    name: str
    connection: Path | None = None  # the file with passwords

    @classmethod
    def at(cls, text: str, connection: Path | None = None) -> Self:
        """The topic that an address in a plan names."""
        if "@" in text:
            raise PlanError(
                "The address of a topic contains a user or a password.",
                why="plans are public",
                tip=f'"{EXAMPLE}", and connection = "file.toml" with what is secret',
            )
        parts = _ADDRESS.fullmatch(text)
        hosts = [_HOST.fullmatch(host) for host in parts[1].split(",")] if parts else [None]
        if parts is None or None in hosts or parts[2] in (".", ".."):
            raise PlanError(
                "The address does not name servers and one topic of Kafka.",
                tip=f'"{EXAMPLE}"; several servers are separated by commas',
            )
        servers = [f"{host[1]}{host[2] or f':{_PORT}'}" for host in hosts if host is not None]
        return cls(",".join(servers), parts[2], connection)

    def overlaps(self, text: str) -> bool:
        """Whether an address in a plan seems to name this topic, by one of its servers."""
        if not text.startswith("kafka://"):
            return False
        other = KafkaTopic.at(text)
        servers = set(self.servers.split(",")) & set(other.servers.split(","))
        return self.name == other.name and bool(servers)

    def __str__(self) -> str:
        return f"the topic {self.name!r}"

    @contextmanager
    def admin(self) -> Iterator[Any]:
        """A client that asks about topics."""
        with self._client(driver("admin").AdminClient, {}) as admin:
            yield admin

    @contextmanager
    def consumer(self, isolation: str = "read_committed") -> Iterator[Any]:
        """A client that reads messages; it is in no group, and commits nothing."""
        options = {
            "group.id": "ameles",  # the client needs one; it is not joined
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "check.crcs": True,
            "fetch.wait.max.ms": 10,
            "queued.max.messages.kbytes": 16 << 10,
            "max.poll.interval.ms": 86_400_000,
            "receive.message.max.bytes": _MOST,
        }
        with self._client(driver().Consumer, options) as consumer:
            try:
                yield consumer
            finally:
                consumer.close()

    def producer(self, name: str) -> Any:
        """A client that writes in transactions; whoever opens the next one of this name ends it."""
        return self._made(driver().Producer, {"transactional.id": name, "compression.type": "gzip"})

    def high(self, partition: int) -> int:
        """The end of a partition, with messages of transactions that are still open."""
        place = driver().TopicPartition(self.name, partition)
        spec = driver("admin").OffsetSpec.latest()
        with self.admin() as admin:
            return int(offsets(admin, [place], spec)[partition].offset)

    def look(self) -> TopicState:
        """What the topic is like now."""
        kafka, asking = driver(), driver("admin")
        committed = kafka.IsolationLevel.READ_COMMITTED
        with self.admin() as admin:
            described = self._described(admin)
            if described is None:
                return TopicState(None, False, {})
            topic = asking.ConfigResource(asking.ResourceType.TOPIC, self.name)
            (settings,) = admin.describe_configs([topic], request_timeout=TIMEOUT).values()
            policy = answer(admin, settings)["cleanup.policy"].value
            places = [kafka.TopicPartition(self.name, each.id) for each in described.partitions]
            firsts, ends = (
                offsets(admin, places, spec, isolation_level=committed)
                for spec in (asking.OffsetSpec.earliest(), asking.OffsetSpec.latest())
            )
            partitions = {
                number: Partition(int(firsts[number].offset), int(end.offset), end.leader_epoch)
                for number, end in ends.items()
            }
            return TopicState(str(described.topic_id), "compact" in policy, partitions)

    def id(self) -> str | None:
        """The id of the topic that has this name now; None if there is none."""
        with self.admin() as admin:
            described = self._described(admin)
            return None if described is None else str(described.topic_id)

    def _described(self, admin: Any) -> Any:
        """What the servers say about the topic; None if there is none."""
        kafka = driver()
        names = kafka.TopicCollection([self.name])
        (future,) = admin.describe_topics(names, request_timeout=TIMEOUT).values()
        try:
            return answer(admin, future)
        except kafka.KafkaException as problem:
            if problem.args[0].name() in _UNKNOWN:
                return None
            raise

    @contextmanager
    def _client(self, kind: _Kind, options: dict[str, Any]) -> Iterator[Any]:
        """A client of a kind; its failures become ``KafkaAway``."""
        failures: list[str] = []
        client = self._made(kind, options, failures)
        try:
            yield client
        except driver().KafkaException as problem:
            raise KafkaAway(_telling(failures or [problem.args[0].name()])) from None
        except KafkaAway as problem:
            let_go(problem)
            raise KafkaAway(str(problem)) from None

    def _made(self, kind: _Kind, options: dict[str, Any], failures: list[str] | None = None) -> Any:
        """A client that raises ``KafkaAway`` when no server can be reached."""
        said = [] if failures is None else failures

        def failed(problem: Any) -> None:
            said.append(problem.name())
            if said[-1] == _DOWN:
                raise KafkaAway(_telling(said))

        own = self._given()
        given = {"bootstrap.servers": self.servers, "client.id": "ameles", **own}
        try:
            return kind({**given, **options, "log_level": 0, "error_cb": failed})
        except (driver().KafkaException, TypeError, ValueError) as problem:
            # its text may quote a password: of it only the names of options are shown
            raise _unusable([name for name in own if name in str(problem)]) from None

    def _given(self) -> dict[str, Any]:
        """The options of the connection file."""
        given = dict(_flat(read_connection(self.connection)))
        others = [name for name in given if not _OPTIONS.fullmatch(name)]
        if others:
            raise _unusable(others)
        return given


def _telling(failures: Sequence[str]) -> str:
    """The failure that says why: a closed connection may come before its reason.

    >>> _telling(["_TRANSPORT", "_SSL", "_ALL_BROKERS_DOWN"]), _telling(["_TRANSPORT", _DOWN])
    ('_SSL', '_TRANSPORT')
    """
    return next((each for each in failures if each not in (_CLOSED, _DOWN)), failures[0])


def let_go(problem: KafkaAway) -> None:
    """Lets go of the frames of a failure, and so of the client in them.

    confluent-kafka never frees an exception that a callback raised: each attempt to reach servers
    that are away would leave four threads and four open files behind.
    """
    problem.__traceback__ = problem.__context__ = None


def _flat(options: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """The names of options with dots: TOML reads them as tables in tables."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def _unusable(names: Sequence[str]) -> PlanError:
    keys = f": see {', '.join(names)}" if names else ""
    return PlanError(
        f"Kafka cannot be reached with this connection file{keys}.",
        why="its keys are options of librdkafka about servers, sasl, ssl, security and sockets, "
        "and the files that it names must be there",
        tip='security.protocol = "SASL_SSL", sasl.mechanism, sasl.username, sasl.password, '
        "ssl.ca.location",
    )
