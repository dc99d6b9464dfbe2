"""Streams that discover keys: crashes, neighbours, hostile keys, secrets, sinks, what is kept."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import duckdb
import pytest

from ameles.connectors.source import SeekableSource
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.engine import Engine
from ameles.engine.operating.compact import compact_store
from ameles.engine.operating.retire import retire_stream
from ameles.engine.releasing.held_stream import HeldStream
from ameles.engine.releasing.resuming import stored_runs
from ameles.noise import Zero
from ameles.store import StreamRecord, Transaction, open_store
from tests.engine import test_crash
from tests.engine.tags import TAGS, USER, WINDOW, Event, Tags, crowd, followed, same_salt

SINKS = '[[sink]]\ncsv = "out.csv"\n[[sink]]\njsonl = "out.jsonl"\n[[sink]]\nparquet = "out"\n'
WEEKLY = TAGS.replace('"tags"', '"weekly"') + 'over = "2d"\n'


class Passing(Zero):
    """No noise, which passes for the operating system's."""

    genuine: ClassVar[bool] = True


def user_rows(tags: Tags) -> int:
    """How many users the store remembers with their records."""
    with closing(open_store(str(tags.folder / "s.db"))) as store, store.reading() as transaction:
        (count,) = transaction._session.rows("SELECT count(*) FROM user_records")[0]
        return int(count)


# Crashes ------------------------------------------------------------------------------------------


def died(
    folder: Path,
    at: int,
    *,
    unit: str = WINDOW,
    after: Callable[[Tags], None] = lambda tags: None,
) -> tuple[list[str], bool]:
    """What is wrong after a death at some place and another run; whether there was such a place."""
    events = crowd(days=6, users=25, events=150, seed=3)
    tags = Tags(folder, TAGS + WEEKLY, unit=unit, rest='[[sink]]\ncsv = "out.csv"\n')
    deaths = False

    def run(tags: Tags, until: int) -> None:
        nonlocal deaths
        if until == 5:
            with test_crash.dying(at):
                try:
                    tags.run(until, noise=Passing(), batch=12)  # a few steps in each transaction
                except test_crash.Died:
                    deaths = True
                    after(tags)
            before = tags.releases()
        tags.run(until, noise=Passing())
        if until == 5 and tags.releases()[: len(before)] != before:
            wrong.append("the store has other values")

    wrong: list[str] = []
    rule = followed(tags, [(events[:100], 2), (events[100:], 5), ([], 6)], run)
    if tags.published() != rule.published():
        wrong.append("it is not the truth")
    with (tags.folder / "out.csv").open(encoding="utf-8") as file:
        sent = [(line["release"], int(line["step"]), line["key"]) for line in csv.DictReader(file)]
    if sent != [(r.release, r.step, r.key) for r in tags.releases()]:
        wrong.append("the sink is not what the store has")
    return wrong, deaths


def places() -> Any:
    """Everything that a step of such a stream writes."""
    more = [(Transaction, name) for name in ("set_user_records", "forget_user_records")]
    return mock.patch.object(test_crash, "WRITES", [*test_crash.WRITES, *more])


def test_a_death_at_any_place_changes_nothing(tmp_path: Path) -> None:
    at, deaths = 1, True
    with places():
        while deaths:
            wrong, deaths = died(tmp_path / str(at), at)
            assert wrong == [], f"died at place {at}"
            at += 9  # of the places between them most are of the same kind
    assert at > 30


def test_records_in_a_transaction_of_their_own_are_noticed(tmp_path: Path) -> None:
    """A broken engine: what users have added is stored before the step is released."""
    put, early = Transaction.set_user_records, list[Any]()

    def dying(self: Transaction, stream: StreamRecord, *given: Any) -> None:
        put(self, stream, *given)
        if stream.released >= 2 and not early:
            early.append((stream, *given))
            raise test_crash.Died

    def too_soon(tags: Tags) -> None:
        with closing(open_store(str(tags.folder / "s.db"))) as store, store.writing() as writing:
            put(writing, *early[0])

    broken = mock.patch.object(Transaction, "set_user_records", dying)
    with broken, pytest.raises(StoreRefused, match="records of a user's keys cannot be read"):
        died(tmp_path, 1 << 30, unit=USER, after=too_soon)


def test_a_run_again_is_free_and_gives_the_same(tmp_path: Path) -> None:
    tags = Tags(tmp_path).append(crowd(days=6, users=25, events=150, seed=4))
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        Engine(tags.plan, store).run(Event(5, "", "").at)
        before = tags.releases()
        Engine(tags.plan, store).run(Event(5, "", "").at)
        assert tags.releases() == before
        Engine(tags.plan, store).run(Event(7, "", "").at)
        assert tags.releases()[: len(before)] == before
        with store.reading() as transaction:
            ledger = transaction.ledger("people")
            assert ledger is not None
            assert len(ledger.entries) == 1


@pytest.mark.sqlite_only("it puts an older file in the place of the store")
def test_an_older_store_is_refused_by_its_sinks(tmp_path: Path) -> None:
    tags = Tags(tmp_path, rest='[[sink]]\ncsv = "out.csv"\n')
    tags.append(crowd(days=6, users=25, events=150, seed=4))
    tags.run(2, noise=Passing())
    backup = (tmp_path / "s.db").read_bytes()
    tags.run(4, noise=Passing())
    for left in tmp_path.glob("s.db*"):
        left.unlink()
    (tmp_path / "s.db").write_bytes(backup)
    (tmp_path / "s.db").chmod(0o600)
    with pytest.raises(StoreRefused, match="has step 4; the store has released 2"):
        tags.run(4, noise=Passing())


# Neighbours and secrets ---------------------------------------------------------------------------


def test_one_user_more_adds_what_that_user_may_and_no_key(tmp_path: Path) -> None:
    events = crowd(days=6, users=40, events=260, seed=5)
    mine = [Event(1 + n % 4, "new", tag) for n in range(8) for tag in ("t0", "t1", "my own tag")]
    published = []
    for number, extra in enumerate(([], mine)):
        tags = Tags(tmp_path / str(number), TAGS + "max_per_key = 2\nmax_keys = 5\n")
        with same_salt():
            tags.append([*events, *extra]).run(6)
        published.append(tags.published())
    without, with_me = published
    assert without.keys() == with_me.keys()  # a rare tag of a new user does not appear
    grown = {key: (with_me[key][0] or 0) - (value or 0) for key, (value, _) in without.items()}
    last = {tag: more for (_, step, tag), more in grown.items() if step == 6}
    assert set(last.values()) <= {0, 1, 2}
    assert 2 <= sum(last.values()) <= 5
    assert {tag for tag, more in last.items() if more} <= {"t0", "t1"}


def test_what_is_published_does_not_tell_who_came_first(tmp_path: Path) -> None:
    """Series and rows of keys that are found together are in the order of their texts."""
    tags = [f"k{n}" for n in (3, 1, 2, 0)]
    found = []
    for turn in (0, 1):
        order = tags[::-1] if turn else tags
        world = Tags(tmp_path / str(turn), TAGS + "looks = 1\n", horizon=4)
        events = [
            Event(1 + place / 2, f"u{tag}{user}", tag)
            for place, tag in enumerate(order)
            for user in range(9)
        ]
        world.append(events).run(4)
        with (
            closing(open_store(str(world.folder / "s.db"))) as store,
            store.reading() as transaction,
        ):
            found.append([(s.number, s.key) for s in transaction.series(world.stream())])
        assert [r.key for r in world.releases()] == sorted(tags)
    assert found[0] == found[1] == list(enumerate(sorted(tags), start=1))


HOSTILE = {
    "plain": True,
    "two words": True,
    "a/b": True,
    "=cmd|' /C calc'!A0": True,
    "+1": True,
    "@SUM(A1)": True,
    "'quoted'": True,
    'double "quotes", commas; and a \\ backslash': True,
    "<script>alert(1)</script>": True,
    "{{constructor}} ${x} %s {0}": True,
    "'; DROP TABLE release; --": True,
    "\U0001f469‍\U0001f52c emoji": True,
    unicodedata.normalize("NFC", "café"): True,
    unicodedata.normalize("NFD", "café"): True,
    "x" * 256: True,
    "é" * 128: True,
    "NULL": True,
    " ": True,
    "": False,
    "x" * 257: False,
    "é" * 129: False,
    "new\nline": False,
    "tab\there": False,
    "bell\x07": False,
    "nul\x00": False,
    "del\x7f": False,
    "c1\x85": False,
    "line\u2028separator": False,
    "turned\u202eround": False,
    "marked\u200fround": False,
}


def test_hostile_keys_are_texts_or_nothing(tmp_path: Path) -> None:
    tags = Tags(tmp_path, rest=SINKS, horizon=4).in_json()
    tags.append(Event(1, f"{n}-{user}", key) for n, key in enumerate(HOSTILE) for user in range(12))
    with tags.file.open("ab") as file:
        line = json.dumps(dict(zip(("at", "who"), Event(1, "z", "").fields, strict=False)))
        for user in range(12):  # no text at all
            broken = line.replace('"z"', f'"b{user}", "tag": "bad \\u0000"')
            file.write(broken.encode().replace(b"\\u0000", b"\xff\xfe") + b"\n")
    tags.run(2, noise=Passing())
    wanted = sorted(key for key, may in HOSTILE.items() if may)
    releases = [r for r in tags.releases() if r.step == 2]
    assert sorted(r.key for r in releases) == wanted
    assert {r.value for r in releases} == {12}
    with (tmp_path / "out.jsonl").open(encoding="utf-8") as file:
        told = [record["key"] for record in map(json.loads, file) if record["step"] == 2]
    assert told == [r.key for r in releases]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        cells = [line["key"] for line in csv.DictReader(file) if line["step"] == "2"]
    assert [cell.removeprefix("'") for cell in cells] == told
    assert not any(cell.startswith(("=", "@")) for cell in cells)
    rows = (
        duckdb.cursor()
        .execute(f"SELECT key FROM '{tmp_path}/out/*.parquet' WHERE step = 2")
        .fetchall()
    )
    assert sorted(key for (key,) in rows) == sorted(told)


def test_a_slash_is_no_key_where_columns_are_joined(tmp_path: Path) -> None:
    release = TAGS.replace('discovered"', 'discovered", region = ["north"]')
    tags = Tags(tmp_path, release, horizon=4)
    tags.append(Event(1, f"{tag}{n}", tag) for tag in ("a/b", "c") for n in range(12)).run(1)
    assert [r.key for r in tags.releases()] == ["c/north"]


CANARY = "canary-of-one-user"


def test_undiscovered_keys_are_in_the_secret_store_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    tags = Tags(tmp_path, TAGS + WEEKLY, rest=SINKS)
    events = crowd(days=6, users=30, events=200, seed=6)
    tags.append([*events, *(Event(day, "one", CANARY) for day in (1, 2, 5.5))])
    tags.run(3, noise=Passing())
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        held = HeldStream(tags.plan, store, tags.stream())
        for run in stored_runs(held, Passing()):
            assert CANARY not in repr(run)
            assert CANARY not in repr(vars(run))
        engine = Engine(tags.plan, store, noise=Passing())
        source = engine.source()
        assert isinstance(source, SeekableSource)
        with engine.session(source) as session:
            engine.take(session, source, 4)  # the event of step 5 waits
            assert CANARY not in repr(vars(session.state))
            session.publish()
    for file in tmp_path.rglob("out*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes(), file
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err + caplog.text
    assert not any(CANARY in str(release) for release in tags.releases())


def test_a_damaged_state_is_refused_without_quoting_it(tmp_path: Path) -> None:
    tags = (
        Tags(tmp_path)
        .append(crowd(days=6, users=30, events=200, seed=6))
        .append([Event(1, "one", CANARY)])
    )
    tags.run(3)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            transaction._session.write("UPDATE user_records SET records = ?", (b"xyz",))
        with pytest.raises(StoreRefused, match="records of a user's keys") as caught:
            Engine(tags.plan, store, noise=Zero()).run(Event(7, "", "").at)
    assert CANARY not in str(caught.value)
    assert tags.stream().released == 3


def test_a_state_that_is_gone_is_refused(tmp_path: Path) -> None:
    tags = Tags(tmp_path).append([Event(1, "one", CANARY)])
    tags.run(2)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            transaction._session.write("DELETE FROM state")
        with pytest.raises(StoreRefused, match="no state of release 'tags'"):
            Engine(tags.plan, store, noise=Zero()).run(Event(7, "", "").at)


def test_the_state_of_a_mechanism_that_discovers_no_keys_is_refused(tmp_path: Path) -> None:
    tags = Tags(tmp_path, f'{TAGS}[[release]]\nname = "all"\nmeasure = "count"\n')
    tags.append([Event(1, "one", CANARY)])
    tags.run(2)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            other = "(SELECT {0} FROM state WHERE release = 'all')"
            changes = ", ".join(f"{name} = {other.format(name)}" for name in ("recipe", "snapshot"))
            transaction._session.write(f"UPDATE state SET {changes} WHERE release = 'tags'")
        with pytest.raises(StoreRefused, match="'tags' that discovers no keys") as caught:
            Engine(tags.plan, store, noise=Zero()).run(Event(7, "", "").at)
    assert CANARY not in str(caught.value)


# What is kept, dropped and refused ----------------------------------------------------------------


def test_quiet_keys_are_dropped_and_come_back_on_their_line(tmp_path: Path) -> None:
    def day(number: int, tag: str, users: int) -> list[Event]:
        return [Event(number, f"{tag}-{number}-{n}", tag) for n in range(users)]

    tags = Tags(tmp_path, TAGS + 'drop_after = "2d"\n', horizon=10)
    events = [event for step in range(1, 11) for event in day(step, "steady", 40)]
    events += day(1, "wave", 40) + day(9, "wave", 40)
    rule = followed(tags, [(events, 10)])
    assert tags.published() == rule.published()
    waves = [r.step for r in tags.releases() if r.key == "wave"]
    assert waves[0] == 1
    assert waves[-1] == 10
    assert 6 not in waves
    assert [r.step for r in tags.releases() if r.key == "steady"] == list(range(1, 11))


def test_old_windows_are_forgotten_and_so_are_all_users_at_the_end(tmp_path: Path) -> None:
    tags = Tags(tmp_path, unit=WINDOW)
    tags.append(Event(day, f"u{n}", "t") for day in (1, 4) for n in range(5)).run(2)
    assert user_rows(tags) == 5
    tags.run(4)
    assert user_rows(tags) == 5  # those of the second window
    tags.run(5)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        compact_store([tags.plan], store)
    assert user_rows(tags) == 5
    tags.run(6)
    assert user_rows(tags) == 0


def test_a_life_is_forgotten_when_it_is_over_or_retired(tmp_path: Path) -> None:
    for number, until in enumerate((6, 3)):
        tags = Tags(tmp_path / str(number)).append(Event(1, f"u{n}", "t") for n in range(5))
        tags.run(until)
        assert user_rows(tags) == 5
        with closing(open_store(str(tags.folder / "s.db"))) as store:
            if until == 6:
                compact_store([tags.plan], store)
            else:
                retire_stream(tags.plan, store, "enough")
        assert user_rows(tags) == 0


def test_steps_without_keys_reach_every_sink(tmp_path: Path) -> None:
    tags = Tags(tmp_path, rest=SINKS)
    for until in (1, 2, 3):  # nothing is published
        tags.run(until, noise=Passing())
    assert tags.releases() == []
    tags.append(Event(4, f"u{n}", "t") for n in range(12))
    tags.run(5, noise=Passing())
    assert [(r.key, r.step) for r in tags.releases()] == [("t", 4), ("t", 5)]
    for name in ("out.csv", "out.jsonl", "out/*.parquet"):
        rows = duckdb.cursor().execute(f"SELECT step FROM '{tmp_path}/{name}'").fetchall()
        assert sorted(rows) == [(4,), (5,)], name


def test_sinks_go_on_when_all_keys_were_dropped(tmp_path: Path) -> None:
    tags = Tags(tmp_path, TAGS + 'drop_after = "1d"\n', rest=SINKS, horizon=8)
    tags.append(Event(2, f"u{n}", "t") for n in range(40))
    for until in range(1, 7):  # a process for each step
        tags.run(until, noise=Passing())
    wanted = [(r.step, r.value) for r in tags.releases()]
    assert 2 <= wanted[0][0] <= wanted[-1][0] < 6
    tags.append(Event(7, f"v{n}", "t") for n in range(40))
    tags.run(8, noise=Passing())
    wanted = [(r.step, r.value) for r in tags.releases()]
    assert wanted[-1][0] >= 7
    for name in ("out.csv", "out.jsonl", "out/*.parquet"):
        rows = duckdb.cursor().execute(f"SELECT step, value FROM '{tmp_path}/{name}'").fetchall()
        assert sorted(rows) == wanted, name


def test_a_cluster_refuses(tmp_path: Path) -> None:
    tags = Tags(tmp_path)
    cluster = Cluster(tasks=TasksHere(), folder=tmp_path)
    with pytest.raises(BadInput, match="cannot run on a cluster") as caught:
        tags.run(1, cluster=cluster)
    assert "discovered step by step" in caught.value.why


def test_rows_of_a_scheduled_step_survive_a_crash(tmp_path: Path) -> None:
    """Two steps are scheduled and one is released: the next run ends the second, and reads nothing
    for it."""
    tags = Tags(tmp_path, unit=USER)
    tags.append(Event(day, f"u{day}{n}", "t") for day in (1, 2) for n in range(12))
    real, calls = Transaction.add_steps, list[int]()

    def dying(self: Transaction, *given: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise test_crash.Died
        real(self, *given)

    with mock.patch.object(Transaction, "add_steps", dying), pytest.raises(test_crash.Died):
        tags.run(2, batch=1)
    assert (tags.stream().released, tags.stream().scheduled) == (1, 2)
    tags.append([Event(2, f"late{n}", "t") for n in range(5)])
    tags.run(2)
    assert [r.value for r in tags.releases()] == [12, 24]
