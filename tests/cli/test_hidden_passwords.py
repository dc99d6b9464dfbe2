"""A password in any place that a plan or a command names is refused, and shown or kept nowhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

import pytest

from ameles.connectors.sinks import SINKS, open_sink
from ameles.connectors.sources import open_source
from ameles.core.exceptions import AmelesError, BadInput, PlanError
from ameles.plan.plan import read_plan_text
from ameles.store import exists, open_store, public_address
from tests.cli.conftest import Program
from tests.core.test_address import CANARY, HOSTILE

STREAM = {"name": "flu", "source": "events.csv", "time": "at", "columns": {"at": "timestamp"}}
CLOCK = {"start": "2026-01-01", "every": "1d", "horizon": 3}
REST = """
[privacy]
population = "visitors"
unit = "event"
epsilon = 1
[[release]]
name = "visits"
measure = "count"
"""
KAFKA: Mapping[str, object] = {
    "source": "kafka://localhost:9/visits",
    "format": "jsonl",
    "connection": "server.toml",
}
# A place of a plan: its table, its key, and what the table has besides.
PLACES: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("stream", "source", {}),
    ("stream", "rotated", {}),
    ("stream", "connection", KAFKA),
    ("stream", "avro_schema", {**KAFKA, "format": "avro"}),
    ("store", "url", {}),
    ("store", "vault", {"url": "flu.db"}),
    *(("sink", kind, {}) for kind in SINKS if kind not in ("webhook", "stdout")),
    ("sink", "webhook", {"secret": "hook.secret"}),
    ("sink", "secret", {"webhook": "https://example.org/hook"}),
    *(
        ("sink", "connection", {kind: address})
        for kind, address in {
            "kafka": "kafka://localhost:9/releases",
            "postgres": "postgresql://me@localhost:9/flu?table=releases",
            "redis": "redis://localhost:9/0?stream=releases",
        }.items()
    ),
)
ARGUMENTS: tuple[tuple[str, ...], ...] = (
    *((command, "@") for command in ("plan", "run", "status", "releases", "check", "doctor")),
    *(("backup", "@"), ("backup", "@", "ameles.toml", "--replace"), ("backup", "a.backup", "@")),
    *(("restore", "@"), ("restore", "@", "--dry-run"), ("restore", "a.backup", "@")),
    ("budget", "list", "--store", "@", "--population", "visitors"),
    ("budget", "list", "--plan", "@"),
    *(("convert", "@", "out.parquet"), ("convert", "events.csv", "@")),
    *(("init", "@"), ("init", "events.csv", "--output", "@")),
    ("check", "--secret-to", "@"),
    ("check", "--sample", "@"),
    ("grafana", "--url", "@"),
    ("grafana", "--source", "postgres", "--url", "@"),
    ("grafana", "--folder", "@"),
    ("preview", "--around", "@"),
    ("compare", "--epsilon", "1", "--horizon", "4", "--csv", "@"),
    ("attack", "--plot", "@"),
    ("serve", "@"),
    ("run", "--engine", "spark", "--master", "@"),
    *(("@",), ("plan", "ameles.toml", "@"), ("plan", "--nonsense=@")),
    ("ledger", "--renew", "1", "--why", "@", "--yes"),
    *(
        ("query", *asked, "--unit", "row", "--population", "people", "--epsilon", "1", "--cap", "1")
        for asked in (
            ("@", "SELECT COUNT(*) FROM t", "--store", "people.db"),
            ("events.csv", "SELECT COUNT(*) FROM t", "--store", "@"),
            ("events.csv", "SELECT COUNT(*) FROM t", "--store", "@", "--dry-run"),
        )
    ),
)


def plan(table: str, key: str, value: object, rest: Mapping[str, object]) -> str:
    """A plan with one value in one place."""
    stream = {**STREAM, **CLOCK, **(rest if table == "stream" else {})}
    store: dict[str, object] = {"url": "flu.db", **(rest if table == "store" else {})}
    sink: dict[str, object] = dict(rest) if table == "sink" else {}
    {"stream": stream, "store": store, "sink": sink}[table][key] = value
    if "kafka" in str(stream["source"]):
        del stream["time"]
    tables = {"[stream]": stream, "[store]": store, "[[sink]]": sink}
    return REST + "".join(
        f"{head}\n" + "".join(f"{name} = {toml(each)}\n" for name, each in content.items())
        for head, content in tables.items()
        if content
    )


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan that works, entered."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text("at\n2026-01-01T10:00:00Z\n", encoding="utf-8")
    (tmp_path / "ameles.toml").write_text(plan("store", "url", "flu.db", {}), encoding="utf-8")
    return tmp_path


def leaks(folder: Path) -> Iterator[str]:
    """Where the password is: in names and in contents of files, except in plans."""
    for file in folder.rglob("*"):
        if CANARY in file.name:
            yield f"the name of {file}"
        if file.is_file() and file.suffix != ".toml" and CANARY.encode() in file.read_bytes():
            yield f"the content of {file}"


@pytest.mark.parametrize(("table", "key", "rest"), PLACES, ids=str)
def test_a_place_in_a_plan(
    site: Path,
    ameles: Program,
    caplog: pytest.LogCaptureFixture,
    table: str,
    key: str,
    rest: Mapping[str, object],
) -> None:
    caplog.set_level(logging.DEBUG)
    for text in HOSTILE:
        written = plan(table, key, text, rest)
        with pytest.raises(AmelesError) as refused:
            read_plan_text(written)
        assert CANARY not in f"{refused.value} {refused.value!r} {vars(refused.value)}", text
        (site / "ameles.toml").write_text(written, encoding="utf-8")
        for command in (("plan",), ("run", "--yes")):
            ended = ameles(*command)
            assert ended.code == 2, text
            assert CANARY not in ended.out + ended.err + caplog.text, text
            assert "try: " in ended.err, text
        assert not [*leaks(site)], text


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=" ".join)
def test_an_argument_of_a_command(
    site: Path, ameles: Program, caplog: pytest.LogCaptureFixture, arguments: tuple[str, ...]
) -> None:
    caplog.set_level(logging.DEBUG)
    for text in HOSTILE:
        ended = ameles(*(each.replace("@", text) for each in arguments))
        assert ended.code == 2, text
        assert CANARY not in ended.out + ended.err + caplog.text, text
        assert not [*leaks(site)], text


@pytest.mark.parametrize("text", HOSTILE)
def test_the_address_of_a_store_in_a_program(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CANARY not in public_address(text)
    for ask in (open_store, exists):
        with pytest.raises(BadInput) as refused:
            ask(text)
        assert CANARY not in f"{refused.value} {refused.value!r}"
        assert "~/.pgpass" in refused.value.tip
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("kind", SINKS)
def test_the_address_of_a_sink_in_a_program(kind: str, tmp_path: Path) -> None:
    for text in HOSTILE:
        with pytest.raises(PlanError) as refused:
            open_sink(kind, text, tmp_path, stream="flu", identity=str(UUID(int=1)))
        assert CANARY not in f"{refused.value} {refused.value!r}"
    assert not [*tmp_path.iterdir()]


def test_the_address_of_a_source_in_a_program(tmp_path: Path) -> None:
    for text in HOSTILE:
        with pytest.raises(PlanError) as refused:
            open_source(text, {}, tmp_path, waiting=True)
        assert CANARY not in f"{refused.value} {refused.value!r}"


def test_a_store_in_postgres_keeps_its_password_out_of_what_is_printed() -> None:
    read = read_plan_text(plan("store", "url", f"postgresql://me:{CANARY}@db.example/flu", {}))
    assert CANARY not in repr(read) + str(read.store)
