"""Keys that are discovered, on the command line: every command that used to know its keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.engine.tags import TAGS, Event, Tags

CANARY = "only-one-user-says-this"
COMMON = ("sea", "=salt")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tags that are common from the second day on, and one that one user has."""
    release = TAGS.replace('discovered"', 'discovered", region = ["north"]')
    tags = Tags(tmp_path, release, rest='[[sink]]\ncsv = "out.csv"\n')
    tags.append(Event(2, f"{tag}{n}", tag) for tag in COMMON for n in range(40))
    tags.append([Event(1, "one", CANARY), Event(3, "one", CANARY)])
    (tmp_path / "ameles.toml").write_text(tags.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_stream_from_its_plan_to_its_end(ameles: Program, folder: Path) -> None:
    said = []

    def say(*arguments: str, code: int = 0) -> str:
        ended = ameles(*arguments)
        assert ended.code == code, ended.err
        said.append(ended.out + ended.err)
        return ended.out

    told = say("plan")
    assert "Release 'tags' discovers the keys of 'tag'" in told
    assert "tags: a key needs about " in told
    assert " found " in told
    (forecast,) = json.loads(say("plan", "--json"))["releases"]
    assert (forecast["discovered"], len(forecast["users_needed"])) == ("tag", 3)
    say("run", "--yes", "--until", "2026-01-02")
    assert "no key of 'tag' is published at this step" in say("explain", "tags", "1")
    assert json.loads(say("explain", "tags", "1", "--json"))["releases"] == []
    for filtered in ((), ("--release", "tags")):
        say("releases", *filtered)
        assert "Nothing was released there" in said[-1]
    assert "discovered so far: 0 of 'tags'" in say("status")
    say("run", "--until", "2026-01-05")
    assert "discovered so far: 2 of 'tags'" in say("status")
    assert json.loads(say("status", "--json"))["discovered"] == {"tags": 2}
    explained = say("explain", "tags", "4")
    assert "  =salt/north: " in explained
    assert "KeyDiscovery, because it publishes a key only once enough users" in explained
    assert "all draws in this number together have standard deviation" in explained
    assert "=salt/north" in say("releases", "--key", "=salt/north")
    say("releases", "--release", "no", code=2)
    say("releases", "--format", "csv")
    say("grafana")
    (record,) = json.loads(say("ledger", "--export"))["deployments"]
    assert record["keys"] == "discovered privately, beside those that the plan declares"
    say("bounds", "--epsilon", "0.1", "--dry-run")
    say("compact")
    say("run", "--until", "2026-01-10")
    assert CANARY not in "".join(said)
    for file in folder.rglob("*"):
        if file.is_file() and file.name not in ("events.csv", "s.db", "s.db-wal"):
            assert CANARY.encode() not in file.read_bytes(), file


@pytest.mark.usefixtures("folder")
def test_the_owner_sees_how_many_keys_there_are(ameles: Program) -> None:
    ended = ameles("check", "--secret-to", "secret.txt")
    assert ended.code == 0, ended.err
    told = Path("secret.txt").read_text(encoding="utf-8")
    assert "tags: 3 different keys, of which common ones are found" in told
    assert CANARY not in told


def test_a_first_plan_can_discover_keys(ameles: Program, folder: Path) -> None:
    options = ["--time", "at", "--user", "who", "--max-per-step", "2", "--max-steps", "4"]
    options += ["--population", "people", "--start", "2026-01-01", "--every", "1d"]
    options += ["--by", "tag", "--keys", "discovered", "--epsilon", "4"]
    refused = ameles("init", "events.csv", "-o", "new.toml", *options, "--horizon", "")
    assert refused.code == 2
    assert "cannot be discovered without a horizon" in refused.err
    assert not (folder / "new.toml").exists()
    made = ameles("init", "events.csv", "-o", "new.toml", *options, "--horizon", "30")
    assert made.code == 0, made.err
    text = (folder / "new.toml").read_text(encoding="utf-8")
    assert 'by = { tag = "discovered" }' in text
    assert "delta = 1e-9" in text
    assert ameles("plan", "new.toml").code == 0
