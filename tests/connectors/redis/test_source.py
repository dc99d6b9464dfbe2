"""Streams of a real Redis: each entry counts once, and none is lost without a word."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import redis

from ameles.connectors.declarations import Declarations
from ameles.connectors.reading import Skipped
from ameles.connectors.redis.source import RedisSource
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from tests.connectors.reading import rows, rows_of
from tests.engine.test_follow import quick
from tests.redis_server import MISSING, RedisServer, serving

COLUMNS = {"who": "text id", "amount": "number", "at": "timestamp"}
SIGN_IN = "secret"
_names = count()
__all__ = ["quick"]  # a fixture of every test here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    with serving(tmp_path_factory.mktemp("redis")) as running:
        yield running


class Entries:
    """A stream of its own, and how far it was read."""

    def __init__(self, server: RedisServer, base: Path) -> None:
        self.server = server
        self.base = base
        self.name = f"visits-{next(_names)}"
        self.client = server.client()
        self.position: str | None = None

    def add(self, who: str | bytes, amount: str = "1", **fields: str) -> bytes:
        entry: Any = {"who": who, "amount": amount, "at": "2026-01-02T10:00:00Z", **fields}
        added = self.client.xadd(self.name, entry)
        assert isinstance(added, bytes)
        return added

    def source(self, **declared: Any) -> RedisSource:
        declarations = Declarations(**declared)
        opened = open_source(
            self.server.url(self.name), COLUMNS, self.base, waiting=True, declarations=declarations
        )
        assert isinstance(opened, RedisSource)
        return opened

    def launch(self) -> Entries:
        self.position = self.source().at_launch()
        return self

    def read(self, **declared: Any) -> list[str]:
        """Who is new."""
        reading = self.source(**declared).reading(self.position)
        new = [row[0] for row in rows_of(reading, COLUMNS)]
        self.position = reading.position
        return new


@pytest.fixture
def entries(server: RedisServer, tmp_path: Path) -> Entries:
    return Entries(server, tmp_path)


def test_the_fields_of_an_entry_are_columns(entries: Entries) -> None:
    entries.add("ann", "1.5")
    entries.add(b"broken \xff id", "2")
    entries.add("line\nbreak", "no number", at="no time")
    entries.client.xadd(entries.name, {"something": "else"})
    at = 1_767_348_000_000_000
    assert rows(entries.source(), COLUMNS) == sorted(
        [("ann", 1.5, at), (None, 2.0, at), ("line\nbreak", None, None), (None, None, None)],
        key=repr,
    )


def test_every_entry_is_read_once(entries: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ameles.connectors.redis.source.AT_ONCE", 3)
    entries.add("before the launch")
    entries.launch()
    for who in "abcdefg":
        entries.add(who)
    assert entries.read() == sorted([*"abcdefg", "before the launch"])
    assert entries.read() == []
    entries.add("h")
    assert entries.read() == ["h"]


def test_an_entry_with_the_greatest_id_is_the_last_one(entries: Entries) -> None:
    """Whoever adds an entry may choose its id, and Redis looks for nothing after this one."""
    entries.launch().add("a")
    greatest = f"{2**64 - 1}-{2**64 - 1}"
    entries.client.xadd(entries.name, {"who": "b", "at": "2026-01-02T10:00:00Z"}, id=greatest)
    assert entries.read() == ["a", "b"]
    assert entries.read() == []


def test_ends_are_where_the_stream_was(entries: Entries) -> None:
    entries.launch()
    entries.add("a")
    source = entries.source()
    ends = source.ends()
    entries.add("b")
    reading = source.reading(entries.position, ends)
    assert [row[0] for row in rows_of(reading, COLUMNS)] == ["a"]
    entries.position = reading.position
    assert entries.read() == ["b"]


def test_a_piece_is_read_by_another_process(entries: Entries) -> None:
    entries.launch()
    entries.add("a")
    reading = entries.source().reading(entries.position)
    entries.add("b")
    again = ForkingPickler.loads(ForkingPickler.dumps(reading))
    assert rows_of(again, COLUMNS) == rows_of(reading, COLUMNS)
    assert [repr(piece) for piece in again.pieces] == ["<RedisPiece>"]


class TestGaps:
    def test_entries_that_were_read_may_go(self, entries: Entries) -> None:
        entries.launch()
        first = entries.add("a")
        entries.add("b")
        entries.read()
        entries.client.xdel(entries.name, first)
        entries.client.xtrim(entries.name, maxlen=0, approximate=False)
        entries.add("c")
        assert entries.read() == ["c"]

    def test_what_went_before_the_launch_is_not_missed(self, entries: Entries) -> None:
        gone = entries.add("a")
        entries.add("b")
        entries.client.xdel(entries.name, gone)
        assert entries.launch().read() == ["b"]

    @pytest.mark.parametrize("how", ["trimmed", "deleted", "all", "another"])
    def test_entries_that_were_not_read_may_not(self, entries: Entries, how: str) -> None:
        entries.launch()
        entries.add("a")
        entries.read()
        ids = [entries.add(who) for who in "bcd"]
        left = {"trimmed": ["d"], "deleted": ["b", "d"], "all": [], "another": ["e"]}[how]
        match how:
            case "trimmed":
                entries.client.xtrim(entries.name, maxlen=1, approximate=False)
            case "deleted":
                entries.client.xdel(entries.name, ids[1])
            case "all":
                entries.client.xtrim(entries.name, maxlen=0, approximate=False)
            case "another":
                entries.client.delete(entries.name)
                entries.add("e")
        for _ in range(2):
            with pytest.raises(SourceUnreadable, match=r"Entries of .* were removed"):
                entries.read()
        source = entries.source(skip_gap="trimmed by mistake")
        reading = source.reading(entries.position)
        assert reading.gaps == (Skipped(f"the stream {entries.name!r}", "trimmed by mistake"),)
        assert [row[0] for row in rows_of(reading, COLUMNS)] == left
        entries.position = reading.position
        entries.add("f")
        assert entries.read() == ["f"]

    @pytest.mark.parametrize(("before", "last"), [("abc", "*"), ("a", "5-2")])
    def test_a_stream_made_anew_counts_from_its_first_entry(
        self, entries: Entries, before: str, last: str
    ) -> None:
        """Whether it got fewer entries than were read, or ends below the last id that was read."""
        entries.launch()
        for who in before:
            entries.add(who)
        entries.read()
        entries.client.delete(entries.name)
        for who, id_ in {"d": "5-1", "e": last}.items():
            entries.client.xadd(entries.name, {"who": who}, id=id_)
        assert entries.read(skip_gap="made anew") == ["d", "e"]

    def test_nothing_is_skipped_where_nothing_is_missing(self, entries: Entries) -> None:
        entries.launch()
        entries.add("a")
        assert entries.source(skip_gap="who knows").reading(entries.position).gaps == ()
        assert entries.read(skip_gap="who knows") == ["a"]

    def test_a_declaration_is_about_the_next_reading_alone(self, entries: Entries) -> None:
        source = entries.launch().source(skip_gap="who knows")
        entries.add("a")
        position = source.reading(entries.position).position
        entries.client.xtrim(entries.name, maxlen=0, approximate=False)
        entries.add("b")
        entries.client.xtrim(entries.name, maxlen=0, approximate=False)
        with pytest.raises(SourceUnreadable, match="removed before"):
            rows_of(source.reading(position), COLUMNS)


class TestServers:
    def test_a_server_that_is_away(self, tmp_path: Path) -> None:
        source = open_source("redis://127.0.0.1:1/0?stream=visits", COLUMNS, tmp_path, waiting=True)
        assert isinstance(source, RedisSource)
        with pytest.raises(SourceAway, match="cannot be read now"):
            source.ends()

    def test_something_else_under_its_name_is_waited_for(self, entries: Entries) -> None:
        entries.launch().add("a")
        entries.client.rename(entries.name, "kept")
        entries.client.rpush(entries.name, "secret")
        with pytest.raises(SourceAway, match="is no stream") as refused:
            entries.read()
        assert "secret" not in str(refused.value)
        entries.client.delete(entries.name)
        entries.client.rename("kept", entries.name)
        assert entries.read() == ["a"]

    def test_a_stream_that_is_not_there_yet(self, entries: Entries) -> None:
        with pytest.raises(PlanError, match="no stream"):
            open_source(entries.server.url(entries.name), COLUMNS, entries.base)
        assert entries.launch().read() == []
        entries.add("a")
        assert entries.read() == ["a"]

    def test_a_password_is_in_a_file_of_its_own(self, server: RedisServer, tmp_path: Path) -> None:
        entries = Entries(server, tmp_path)
        entries.add("a")
        server.client().config_set("requirepass", SIGN_IN)
        secret = tmp_path / "redis.toml"
        secret.write_text('password = "secret"\n')
        secret.chmod(0o600)
        url = server.url(entries.name)
        try:
            with pytest.raises(SourceAway, match="AuthenticationError") as refused:
                open_source(url, COLUMNS, tmp_path)
            assert "secret" not in str(refused.value)
            source = open_source(url, COLUMNS, tmp_path, connection=secret)
            assert isinstance(source, RedisSource)
            assert len(rows(source, COLUMNS)) == 1
            secret.write_text(SIGN_IN)
            with pytest.raises(PlanError, match="must be TOML") as refused_file:
                open_source(url, COLUMNS, tmp_path, connection=secret)
            assert SIGN_IN not in str(refused_file.value)
            secret.chmod(0o640)
            with pytest.raises(PlanError, match="can be read by other users"):
                open_source(url, COLUMNS, tmp_path, connection=secret)
        finally:
            redis.Redis(port=server.port, password=SIGN_IN).config_set("requirepass", "")

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("redis://localhost/0", "does not name a server and one stream"),
            ("redis://localhost/0?stream=a&stream=b", "does not name a server and one stream"),
            ("redis://localhost/0?stream=a&timeout=3", "does not name a server and one stream"),
            ("redis://me:word@localhost/0?stream=a", "contains a user or a password"),
        ],
    )
    def test_addresses(self, text: str, what: str, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match=what):
            open_source(text, COLUMNS, tmp_path)

    def test_positions_of_other_sources_are_refused(self, entries: Entries) -> None:
        with pytest.raises(StoreRefused, match="not one of redis"):
            entries.source().reading('{"ameles":"position","version":1,"kind":"http","batches":0}')
