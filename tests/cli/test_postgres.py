"""Commands on a plan whose store is in Postgres: the same as with a file, and no password."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.postgres import SIGN_IN, Server
from tests.store.places import PostgresPlace
from tests.warm_processes import start

PLAN = """
[stream]
name = "flu"
source = "events.csv"
time = "at"
columns = {{ at = "timestamp", region = "text" }}
start = "2026-01-01"
every = "1d"
horizon = 100
[privacy]
population = "visitors"
unit = "event"
epsilon = 1
[[release]]
name = "visits"
measure = "count"
[store]
url = "{url}"
[[sink]]
csv = "releases.csv"
"""
ASKED = (
    ("plan",),
    ("status",),
    ("releases",),
    ("ledger",),
    ("ledger", "--export"),
    ("explain", "visits", "1"),
    ("run", "--until", "2026-01-04"),
)


@pytest.fixture
def place(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PostgresPlace:
    """A folder with a plan, entered, and an empty schema for its store."""
    monkeypatch.chdir(tmp_path)
    place = PostgresPlace(postgres)
    Path("ameles.toml").write_text(PLAN.format(url=place.url), encoding="utf-8")
    Path("events.csv").write_text("at,region\n2026-01-01T10:00:00Z,north\n", encoding="utf-8")
    return place


def secret_in(text: str) -> bool:
    return SIGN_IN in text or "w%25rd" in text


def written() -> str:
    """All that is in the folder, but for the plan."""
    files = [file for file in Path().rglob("*") if file.is_file() and file.name != "ameles.toml"]
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def test_before_the_launch_there_is_nothing_and_nothing_is_made(
    place: PostgresPlace, ameles: Program
) -> None:
    assert "Population 'visitors' is new" in ameles("plan").err
    for command in ASKED[1:-1]:
        ended = ameles(*command)
        assert ended.code == 4
        assert f"There is no store 'postgresql://owner@{place.server.folder}/" in ended.err
        assert "ameles run, which launches a stream" in ended.err
        assert not secret_in(ended.out + ended.err)
    assert place.tables() == []


def test_every_command_works_and_none_shows_the_password(
    place: PostgresPlace, ameles: Program
) -> None:
    assert ameles("run", "--until", "2026-01-03").code == 0
    said = [ameles(*command) for command in ASKED]
    assert [ended.code for ended in said] == [0] * len(ASKED)
    assert "stream 'flu' was launched and is paid" in said[0].out + said[0].err
    assert "step 2 of 100" in said[1].out
    assert not any(secret_in(ended.out + ended.err) for ended in said)
    assert not secret_in(written())
    with place.connected() as connection:
        for table in place.tables():
            assert not secret_in(repr(connection.execute(f"SELECT * FROM {table}").fetchall()))


def test_what_is_not_in_the_store_is_told_without_the_password(
    place: PostgresPlace, ameles: Program
) -> None:
    assert ameles("run", "--until", "2026-01-03").code == 0
    plan = Path("ameles.toml")
    plan.write_text(plan.read_text(encoding="utf-8").replace('"flu"', '"cold"'), encoding="utf-8")
    unknown = ameles("status")
    assert (unknown.code, secret_in(unknown.err)) == (4, False)
    assert f"the store 'postgresql://owner@{place.server.folder}/" in unknown.err
    plan.write_text(plan.read_text(encoding="utf-8").replace("visitors", "staff"), encoding="utf-8")
    nobody = ameles("ledger")
    assert (nobody.code, secret_in(nobody.err)) == (4, False)
    assert "has no population 'staff'" in nobody.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("w%25rd", "wrong", "did not accept this user"),
        ("host=", "host=%2Fnowhere", "no server answers there"),
        ("%2Fw%25rd", "/w%rd", "cannot be read"),
    ],
)
@pytest.mark.usefixtures("place")
def test_an_address_that_leads_nowhere_is_told_without_it(
    ameles: Program, old: str, new: str, words: str
) -> None:
    plan = Path("ameles.toml")
    plan.write_text(plan.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    for command in ASKED:
        ended = ameles(*command)
        if command != ("plan",):  # which only says so
            assert ended.code in (2, 4)
            assert words in ended.err
        assert not secret_in(ended.out + ended.err)
        assert "wrong" not in ended.out + ended.err
    assert not Path("releases.csv").exists()


def test_two_followers_of_one_stream(place: PostgresPlace, ameles: Program) -> None:
    """The second is refused, with the number of the first."""
    plan = Path("ameles.toml")
    later = plan.read_text(encoding="utf-8").replace("2026-01-01", "2099-01-01")
    plan.write_text(later, encoding="utf-8")
    with start("-m", "ameles", "run", "--follow", "--yes", stderr=subprocess.PIPE) as first:
        assert first.stderr is not None
        assert first.stderr.readline().startswith("This plan was never checked")
        assert first.stderr.readline().startswith("Launched stream 'flu'")
        assert first.stderr.readline().startswith("Following events.csv from step 1 on")
        second = ameles("run")
        assert second.code == 4
        assert f"is run by another process ({first.pid})" in second.err
        assert "stream      flu, running" in ameles("status").out
        first.terminate()
        assert first.wait(600) == 0
    assert "stream      flu, not running" in ameles("status").out
