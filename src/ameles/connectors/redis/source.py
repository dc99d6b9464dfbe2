"""Redis Streams: an entry is an event, and its fields are the columns.

A position is the id of the last entry that was read, and how many entries the stream had ever got
by then.  As many as came since must follow that id; if fewer do, some were trimmed or deleted
unread.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, parse_qs, urlsplit

from ameles.connectors.connection_file import read_connection
from ameles.connectors.message_source import MessagePiece, MessageSource, gap
from ameles.connectors.reading import Reading, Skipped
from ameles.connectors.source import SourceAway, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.lines import text
from ameles.core.exceptions import MissingExtra, PlanError

FIRST = "0-0"  # comes before every id
AT_ONCE = 1000  # entries
TYPICAL = 100  # bytes of an entry, about
CONNECTING, READING = 10, 30  # seconds
_OTHER_TYPE = "WRONGTYPE"  # how Redis begins its answer about a key that is no stream


@dataclass(frozen=True, slots=True)
class StreamKey:
    """A stream of a Redis server."""

    url: str
    key: str
    connection: Path | None = None  # the file with passwords

    @classmethod
    def of(cls, text: str, example: str, connection: Path | None = None) -> StreamKey:
        """The stream that an address names."""
        address = urlsplit(text)
        if "@" in address.netloc:
            raise PlanError(
                "The address of the stream contains a user or a password.",
                why="plans are public",
                tip=f'"{example}", and connection = "file.toml" with what is secret',
            )
        asked = parse_qs(address.query)
        if [*asked] != ["stream"] or len(asked["stream"]) != 1 or not address.hostname:
            raise PlanError(
                "The address does not name a server and one stream.", tip=f'"{example}"'
            )
        return cls(address._replace(query="").geturl(), asked["stream"][0], connection)

    @property
    def place(self) -> tuple[object, ...]:
        """Where it is, however the address is written."""
        address = urlsplit(self.url)
        return address.hostname, address.port or 6379, address.path.strip("/") or "0", self.key

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client; its failures become refusals that quote nothing of the stream."""
        redis = driver()
        options = read_connection(self.connection)
        try:
            with redis.Redis.from_url(
                self.url, socket_connect_timeout=CONNECTING, socket_timeout=READING, **options
            ) as client:
                yield client
        except (TypeError, ValueError):
            raise PlanError(
                f"Redis cannot be reached by {self.url!r} with this connection file.",
                tip=f'source = "{RedisSource.example}"; in the file, options of redis-py',
            ) from None
        except redis.RedisError as problem:
            if str(problem).startswith(_OTHER_TYPE):
                raise SourceAway(
                    f"The key {self.key!r} of {self.url} is no stream.",
                    why="something of another type has its name",
                    tip="the name of a stream in the address, or another name for what is there",
                ) from None
            raise SourceAway(
                f"The stream {self.key!r} of {self.url} cannot be read now "
                f"({type(problem).__name__}).",
                tip="start the server, or mend the address and the connection file",
            ) from None

    def ends(self, client: Any) -> StreamEnds:
        """The last id, and how many entries the stream ever got."""
        if not client.exists(self.key):
            return StreamEnds(FIRST, 0, 0)
        about = client.xinfo_stream(self.key)
        if "entries-added" not in about:
            raise PlanError(
                "This server does not count the entries of a stream.",
                why="entries that were removed before they were read would not be noticed",
                tip="Redis 7 or newer",
            )
        last = about["last-generated-id"].decode()
        return StreamEnds(last, about["entries-added"], about["length"])


@dataclass(frozen=True, slots=True)
class StreamEnds:
    """Where a stream ended at some moment."""

    last: str  # the id of its last entry
    added: int = field(repr=False)  # how many entries it ever got
    length: int = field(repr=False)  # how many of them it had


class RedisSource(MessageSource[StreamEnds]):
    """The entries of a stream."""

    schemes = ("redis", "rediss")
    kind = "redis"
    noun = "entries"
    example = "redis://localhost:6379/0?stream=visits"
    takes_format = False  # fields have names

    @classmethod
    def check_address(cls, text: str) -> None:
        StreamKey.of(text, cls.example)

    @classmethod
    def _opened(cls, request: SourceRequest, address: SplitResult, dialect: Dialect) -> Self:
        key = StreamKey.of(request.text, cls.example, request.connection)
        return cls(request, dialect, key)

    def __init__(self, request: SourceRequest, dialect: Dialect, key: StreamKey) -> None:
        super().__init__(request, dialect)
        self._key = key

    def missing(self) -> PlanError | None:
        if self.ends().added:
            return None
        return PlanError(
            f"There is no stream {self._key.key!r} on this server.",
            tip="wait until somebody adds an entry, or ameles run --follow",
        )

    def at_launch(self) -> str:
        ends = self.ends()
        # what was removed before the launch is not missed
        return self._position(last=FIRST, added=ends.added - ends.length)

    def ends(self) -> StreamEnds:
        with self._key.client() as client:
            return self._key.ends(client)

    def reading(self, position: str | None, ends: StreamEnds | None = None) -> Reading:
        ends = self.ends() if ends is None else ends
        if position is None:
            position = self._position(last=FIRST, added=ends.added - ends.length)
        before = self._stored(position)
        came = ends.added - before["added"]
        gaps: tuple[Skipped, ...] = ()
        piece = RedisPiece(
            dialect=self._dialect,
            records=self._records,
            key=self._key,
            after=before["last"],
            last=ends.last,
            count=came,
        )
        place = f"the stream {self._key.key!r}"
        if came < 0 or order(ends.last) < order(before["last"]):
            # another stream has its name now, and what that stream has is unread
            gaps = self._skipped(place)
            piece = replace(piece, after=FIRST, count=None)
        elif self._skip_gap is not None and not piece.whole():
            gaps = self._skipped(place)
            piece = replace(piece, count=None)
        self._skip_gap = None  # it was declared about what is lost now
        # a stream that was deleted and made anew may have got as many entries as were read before
        unchanged = piece.count == 0 and ends.last == before["last"]
        pieces = () if unchanged else (piece,)
        return Reading(pieces, self._position(last=ends.last, added=ends.added), gaps=gaps)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RedisPiece(MessagePiece):
    """The entries after one id, up to another."""

    key: StreamKey
    after: str
    last: str
    count: int | None  # how many there are; None: nobody knows

    @property
    def size(self) -> int:
        return TYPICAL * (self.count or 1)

    def messages(self) -> Iterator[bytes | None]:
        read = 0
        for entries in self._pages():
            for _, fields in entries:
                yield json.dumps(_texts(fields), ensure_ascii=False).encode()
            read += len(entries)
        if self.count is not None and read != self.count:
            raise gap(f"the stream {self.key.key!r}", RedisSource.noun)

    def whole(self) -> bool:
        """Whether no entry of the range is missing."""
        return sum(map(len, self._pages())) == self.count

    def _pages(self) -> Iterator[list[tuple[bytes, dict[bytes, bytes]]]]:
        after = self.after
        with self.key.client() as client:
            # Redis refuses to look for what comes after the greatest id that there can be
            while after != self.last and (
                page := client.xrange(self.key.key, f"({after}", self.last, AT_ONCE)
            ):
                yield page
                after = page[-1][0].decode()


def driver() -> Any:
    """The module redis; if it is missing, the refusal says how to install it."""
    try:
        return importlib.import_module("redis")
    except ImportError:
        raise MissingExtra(
            "A stream of Redis needs redis-py, which is not installed.",
            tip="pip install '.[redis]' in the clone of Ameles",
        ) from None


def _texts(fields: dict[bytes, bytes]) -> dict[str, str]:
    return {text(name): text(value) for name, value in fields.items()}


def order(entry: str) -> tuple[int, int]:
    """An id, as it is compared."""
    milliseconds, _, number = entry.partition("-")
    return int(milliseconds), int(number)
