"""Buckets: each object counts once, whole, and as a file with the same content does."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from ameles.connectors.declarations import Declarations
from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.connectors.objects import object_store
from ameles.connectors.objects import parquet as object_parquet
from ameles.connectors.objects.object_store import ObjectPattern
from ameles.connectors.objects.source import ObjectSource
from ameles.connectors.reading import Skipped
from ameles.connectors.source import SourceAway
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_of
from tests.s3_server import SIGN_IN, Bucket, serving

COLUMNS = {"at": "timestamp", "who": "text id", "amount": "number"}
HEADER = "at,who,amount\n"
LINE = "2026-01-02T10:00:00Z,{},1\n"


def lines(*who: str) -> str:
    return HEADER + "".join(LINE.format(one) for one in who)


class Lake:
    """A bucket, and how far it was read."""

    def __init__(self, bucket: Bucket, base: Path, text: str = "s3://lake/visits/*.csv") -> None:
        self.bucket = bucket
        self.base = base
        self.text = text
        self.file = bucket.connection(base / "lake.toml")
        self.position: str | None = None

    def source(self, **declared: Any) -> ObjectSource:
        opened = open_source(
            self.text,
            COLUMNS,
            self.base,
            waiting=True,
            connection=self.file,
            declarations=Declarations(**declared),
        )
        assert isinstance(opened, ObjectSource)
        return opened

    def read(self, **declared: Any) -> list[str]:
        """Who is in what is new; problems are raised."""
        reading = self.source(**declared).reading(self.position)
        if reading.problems:
            raise reading.problems[0]
        found = [row[1] for row in rows_of(reading, COLUMNS)]
        self.position = reading.position
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    pytest.importorskip("obstore")
    with serving() as bucket:
        yield bucket


@pytest.fixture
def lake(server: Bucket, tmp_path: Path) -> Lake:
    server.objects.clear()
    server.given, server.away = 0, False
    return Lake(server, tmp_path)


def test_every_object_is_read_once(lake: Lake) -> None:
    for name, who in {"a": "ann", "b": "bob", "c": "cleo"}.items():
        lake.bucket.put(f"visits/{name}.csv", lines(who))
    for other in ("visits/.hidden.csv", "visits/deeper/x.csv", "visits/x.txt", "others/x.csv"):
        lake.bucket.put(other, lines("nobody"))
    assert lake.source().missing() is None
    assert lake.source().names() == ("at", "who", "amount")
    assert lake.read() == ["ann", "bob", "cleo"]
    assert lake.read() == []
    lake.bucket.put("visits/d.csv", lines("dora", "ann").rstrip())
    del lake.bucket.objects["visits/a.csv"]  # what was read may go
    assert lake.read() == ["ann", "dora"], "the last line needs no newline"
    lake.bucket.put("visits/e.csv", "")
    lake.bucket.put("visits/f.csv", HEADER)
    assert lake.read() == []


def test_ends_are_what_the_bucket_had(lake: Lake) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    source = lake.source()
    ends = source.ends()
    lake.bucket.put("visits/b.csv", lines("bob"))
    reading = source.reading(None, ends)
    assert [row[1] for row in rows_of(reading, COLUMNS)] == ["ann"]
    assert [row[1] for row in rows(source, COLUMNS, reading.position)] == ["bob"]


def parquet(folder: Path) -> bytes:
    """Several row groups, with ids in broken UTF-8 and with question marks."""
    file = folder / "made.parquet"
    with duckdb.connect() as duck:
        duck.execute(
            "COPY (SELECT TIMESTAMPTZ '2026-01-02 10:00:00Z' AS at, CASE WHEN range % 97 = 0 THEN "
            "'wh?' ELSE 'u' || range % 1000 END AS who, (range % 7)::DOUBLE AS amount FROM "
            f"range(9000)) TO '{file}' (ROW_GROUP_SIZE 2048, COMPRESSION uncompressed)"
        )
    return file.read_bytes().replace(b"u997", b"u\xff97")


CSV = (
    HEADER
    + "".join(LINE.format(f"u{n}") for n in range(3000))
    + '2026-01-02T10:00:00Z,"un,1\nbroken,,\n'
    + LINE.format("\N{SNOWMAN}")
)
JSON = "".join(f'{{"at":"2026-01-02T10:00:00Z","who":"u{n}","amount":{n % 7}}}\n' for n in range(9))
CONTENTS: dict[str, Callable[[Path], bytes]] = {
    "a.csv": lambda _: CSV.encode() + b"2026-01-02T10:00:00Z,\xff\xfe,1\n",
    "a.csv.gz": lambda _: gzip.compress(CSV.encode()),
    "a.csv.bz2": lambda _: bz2.compress(CSV.encode()),
    "a.jsonl": lambda _: JSON.encode(),
    "a.parquet": parquet,
}


@pytest.mark.parametrize("name", CONTENTS)
def test_objects_are_read_as_files_are(lake: Lake, tmp_path: Path, name: str) -> None:
    """Also in pieces, and in other processes."""
    content = CONTENTS[name](tmp_path)
    (tmp_path / name).write_bytes(content)
    expected = rows(open_files(name, COLUMNS, tmp_path), COLUMNS)
    lake.bucket.put(f"visits/{name}", content)
    lake.text = f"s3://lake/visits/*.{name.partition('.')[2]}"
    reading = lake.source().reading(None)
    assert rows_of(reading, COLUMNS) == expected
    parts = ForkingPickler.loads(ForkingPickler.dumps(reading.cut(20_000)))
    assert len(parts.pieces) > 1 or name not in ("a.csv", "a.parquet")
    assert rows_of(parts, COLUMNS) == expected


def test_a_part_of_parquet_fetches_its_row_groups_alone(lake: Lake, tmp_path: Path) -> None:
    content = parquet(tmp_path)
    lake.bucket.put("visits/a.parquet", content)
    lake.text = "s3://lake/visits/a.parquet"
    reading = lake.source().reading(None).cut(1)
    assert len(reading.pieces) == 5
    lake.bucket.given = 0
    assert rows_of(reading, COLUMNS)
    assert len(content) <= lake.bucket.given < 1.2 * len(content)
    own = [Path(path).parent for piece in reading.pieces for path in piece.paths]
    assert not any(folder.exists() for folder in own)


def test_parquet_with_a_large_footer_or_columns_named_as_places(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_parquet, "_TAIL", 16)
    file = tmp_path / "a.parquet"
    with duckdb.connect() as duck:
        duck.execute(
            "COPY (SELECT TIMESTAMPTZ '2026-01-02 10:00:00Z' AS at, 'u' || range AS who, 1.0 AS "
            f"amount, 7 AS file_row_number FROM range(5000)) TO '{file}' (ROW_GROUP_SIZE 2048)"
        )
    lake.bucket.put("visits/a.parquet", file.read_bytes())
    lake.text = "s3://lake/visits/a.parquet"
    reading = lake.source().reading(None).cut(1)
    assert len(rows_of(reading, COLUMNS)) == 5000
    assert len(reading.pieces) == 1


def test_an_answer_that_is_too_short_is_none(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.bucket.put("visits/a.csv", lines("ann", "bob"))
    reading = lake.source().reading(None)
    got = SimpleNamespace(bytes=lambda: b"at,who", meta={"e_tag": None})
    short = SimpleNamespace(get=lambda *_, **__: got)
    real = object_store.driver
    monkeypatch.setattr(object_store, "driver", lambda part="": real(part) if part else short)
    with pytest.raises(ChangedMeanwhile):
        rows_of(reading, COLUMNS)


@pytest.mark.parametrize("other", ["ann", "bob"])
def test_another_upload_under_a_name_is_refused_whatever_it_has(lake: Lake, other: str) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    assert lake.read() == ["ann"]
    lake.bucket.put("visits/a.csv", lines(other))
    with pytest.raises(StoreRefused, match=r"'visits/a\.csv' was uploaded again") as refused:
        lake.read()
    assert all(option in refused.value.tip for option in ("--same-file", "--new-file"))
    before = lake.position
    assert lake.read(new=("visits/a.csv",)) == [other]
    assert lake.read() == []
    lake.position = before
    assert lake.read(same=("visits/*",)) == []
    assert lake.read() == []


@pytest.mark.parametrize("careless", [False, True])
def test_what_changes_between_a_look_and_the_reading(lake: Lake, careless: bool) -> None:
    lake.bucket.careless = careless
    lake.bucket.put("visits/a.csv", lines("ann"))
    reading = lake.source().reading(None)
    lake.bucket.put("visits/a.csv", lines("bob"))
    with pytest.raises(ChangedMeanwhile, match="was replaced or cut while"):
        rows_of(reading, COLUMNS)
    del lake.bucket.objects["visits/a.csv"]
    with pytest.raises(ChangedMeanwhile, match="was removed or renamed while"):
        rows_of(reading, COLUMNS)


def test_objects_of_the_launch_that_go_unread_are_a_gap(lake: Lake) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    lake.bucket.put("visits/b.csv", lines("bob"))
    lake.position = lake.source().at_launch()
    del lake.bucket.objects["visits/a.csv"]
    with pytest.raises(SourceUnreadable, match=r"Objects of 's3://lake/.*' were removed before"):
        lake.read()
    source = lake.source(skip_gap="cleaned up too early")
    reading = source.reading(lake.position)
    assert reading.gaps == (Skipped("the object 'visits/a.csv'", "cleaned up too early"),)
    assert [row[1] for row in rows_of(reading, COLUMNS)] == ["bob"]
    with pytest.raises(SourceUnreadable, match="were removed before"):
        source.reading(lake.position)  # it was declared about one reading
    lake.bucket.put("visits/a.csv", lines("cleo"))
    with pytest.raises(StoreRefused, match="since the launch"):
        lake.read()


def test_a_launch_needs_an_object_with_something_in_it(lake: Lake) -> None:
    lake.bucket.put("visits/a.csv", "")
    with pytest.raises(PlanError, match=r"'visits/a\.csv' does not name its columns yet"):
        lake.source().at_launch()
    lake.bucket.put("visits/b.csv", lines())
    lake.source().at_launch()


def test_an_object_that_cannot_be_read_holds_up_no_other(lake: Lake) -> None:
    lake.bucket.put("visits/a.csv", "at,amount\n2026-01-02T10:00:00Z,canary\n")
    lake.bucket.put("visits/b.csv", lines("bob"))
    reading = lake.source().reading(None)
    [problem] = reading.problems
    assert "'visits/a.csv' has no column 'who'" in str(problem)
    assert "canary" not in str(problem)
    assert [row[1] for row in rows_of(reading, COLUMNS)] == ["bob"]
    lake.bucket.put("visits/a.csv", lines("ann"))
    lake.position = reading.position
    assert lake.read() == ["ann"], "nothing of it was counted before"
    lake.text = "s3://lake/*.csv.gz"
    lake.bucket.put("a.csv.gz", gzip.compress(lines(*"abcdefgh" * 90).encode())[:-9])
    with pytest.raises(SourceUnreadable, match="cannot be unpacked"):
        rows_of(lake.source().reading(None), COLUMNS)
    lake.bucket.put("a.parquet", b"PAR1 and nothing else")
    lake.text = "s3://lake/*.parquet"
    assert "cannot be read as Parquet" in str(lake.source().reading(None).problems[0])


def test_a_store_that_is_away_or_refuses_is_waited_for(lake: Lake) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    reading = lake.source().reading(None)
    lake.bucket.away = True
    for refused in (lake.source().ends, lambda: rows_of(reading, COLUMNS)):
        with pytest.raises(SourceAway, match=r"'s3://lake' cannot be read now \(\w+\)"):
            refused()
    lake.bucket.away = False
    assert lake.read() == ["ann"]
    lake.bucket.connection(lake.file, "somebody")
    with pytest.raises(SourceAway, match=r"\(HTTP 403\)") as refused_sign_in:
        lake.read()
    assert SIGN_IN not in str(refused_sign_in.value)


@pytest.mark.parametrize("name", ["visits//a.csv", "visits/../a.csv", "visits/./notes.txt"])
def test_names_that_no_client_can_ask_for_are_explained(lake: Lake, name: str) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    lake.bucket.put(name, lines("bob"))
    with pytest.raises(SourceAway, match="an object beside those of the plan") as refused:
        lake.read()
    assert "is empty, '.' or '..'" in str(refused.value)
    del lake.bucket.objects[name]
    assert lake.read() == ["ann"]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("bogus = 'a'", "bogus"),
        ("endpoint = 'a b'", "endpoint"),
        ("user_agent = 'a'", "user_agent"),
    ],
)
def test_connection_files(lake: Lake, option: str, name: str) -> None:
    lake.file.write_text(f"secret_access_key = '{SIGN_IN}'\n{option}\n")
    with pytest.raises(PlanError, match=f"connection file: see {name}") as refused:
        lake.read()
    assert SIGN_IN not in str(refused.value)
    lake.file.chmod(0o644)
    with pytest.raises(PlanError, match="can be read by other users"):
        lake.read()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("s3://lake", "does not name a bucket and objects"),
        ("s3://lake/", "does not name a bucket and objects"),
        ("s3:///a.csv", "does not name a bucket and objects"),
        ("s3://lake//a.csv", "does not name a bucket and objects"),
        ("s3://lake/../a.csv", "does not name a bucket and objects"),
        ("s3://key:secret@lake/a.csv", "contains a user or a password"),
        ("s3://lake/a.txt", "not of a kind that Ameles can read"),
    ],
)
def test_addresses(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=what) as refused:
        open_source(text, COLUMNS, tmp_path)
    assert "key:secret" not in str(refused.value)


def test_patterns_go_through_folders(lake: Lake) -> None:
    lake.text = "s3://lake/**/day=*/v[12].csv"
    for name in ("a/day=1/v1.csv", "a/b/day=2/v2.csv", "a/day=1/v3.csv", "a/day=1/x/v1.csv"):
        lake.bucket.put(name, lines(name.replace(",", "")))
    assert lake.read() == ["a/b/day=2/v2.csv", "a/day=1/v1.csv"]
    lake.text, lake.position = "s3://lake/nothing.csv", None
    assert isinstance(lake.source().missing(), PlanError)
    assert lake.source().names() == ()


def test_positions_of_other_sources_are_refused(lake: Lake) -> None:
    with pytest.raises(StoreRefused, match="not one of objects"):
        lake.source().reading('{"ameles":"position","version":1,"kind":"redis","last":0}')


def test_a_store_without_tags_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.bucket.put("visits/a.csv", lines("ann"))
    monkeypatch.setattr("tests.s3_server._tag", lambda content: "")
    with pytest.raises(PlanError, match=r"gives no tag \(ETag\)"):
        ObjectPattern.at(lake.text, lake.file).objects()
