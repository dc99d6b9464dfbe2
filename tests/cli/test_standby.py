"""``ameles run --follow --standby``: one process runs the stream, and another takes over."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ameles.store import Store, StoreAway, open_store
from tests.cli.conftest import Program
from tests.cli.followed_site import Site, a_site, row
from tests.cli.takeovers import END_LOCKS, prepare
from tests.postgres import Server
from tests.store.places import PostgresPlace


@pytest.fixture
def processes(tmp_path: Path, postgres: Server) -> Iterator[tuple[Site, Site]]:
    """Two processes for one plan whose store is in Postgres."""
    place = PostgresPlace(postgres)
    with a_site(tmp_path) as first, a_site(tmp_path) as second:
        prepare(first, place)
        yield first, second
    place.give_back()


def test_a_process_that_stands_by_takes_over(
    processes: tuple[Site, Site], postgres: Server
) -> None:
    first, second = processes
    first.follow("--standby")
    first.append(row())
    first.wait(lambda: first.total() == 1)
    second.follow("--standby")
    first.send(signal.SIGKILL)
    first.ended()
    published = second.rows()
    second.append(row())
    second.wait(lambda: second.total() == 2)  # it has taken over
    assert second.rows()[: len(published)] == published

    first.follow("--standby")
    assert first.process is not None
    assert first.process.stderr is not None
    said = first.process.stderr.readline()
    assert said.startswith("The stream 's' is run by another process (")
    assert said.endswith("). Standing by.\n")
    with postgres.admin() as admin:
        admin.execute(END_LOCKS)
    published = second.rows()
    second.append(row())
    second.wait(lambda: second.total() == 3)  # one of them has the stream again
    assert second.rows()[: len(published)] == published
    assert [site.stop()[0] for site in (second, first)] == [0, 0]


def test_a_process_that_stands_by_waits_for_a_store_that_is_down(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()

    def down(url: str, **options: object) -> Store:
        opened.append(url)
        if len(opened) < 3:
            raise StoreAway("The store cannot be reached.")
        return open_store(url)

    monkeypatch.setattr("ameles.cli.followed_run.exists", lambda url: True)
    monkeypatch.setattr("ameles.cli.followed_run.open_store", down)
    monkeypatch.setattr("ameles.engine.following.standby.PATIENCE", 0)
    with a_site(tmp_path) as site:
        site.write()
        site.plan.write_text(
            site.plan.read_text(encoding="utf-8").replace("[privacy]", "horizon = 1\n[privacy]"),
            encoding="utf-8",
        )
        site.append("at,region\n")
        ended = ameles("run", str(site.plan), "--follow", "--standby", "--yes")
    assert (ended.code, len(opened)) == (0, 3)
    assert ended.err.count("The store cannot be reached. Standing by.") == 1


def test_standby_is_refused_where_nothing_can_be_taken_over(
    tmp_path: Path, ameles: Program
) -> None:
    with a_site(tmp_path) as site:
        site.write()
        ended = ameles("run", str(site.plan), "--standby")
        assert (ended.code, "--standby needs --follow" in ended.err) == (2, True)
        site.write("-", timed=False)
        ended = ameles("run", str(site.plan), "--follow", "--standby")
        assert (ended.code, "where another process stopped" in ended.err) == (2, True)
        assert not (site.folder / "s.db").exists()
