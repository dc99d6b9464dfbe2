"""A text with broken characters is no key, whatever it looks like once they are replaced.

Different texts would look alike, and a key would be published that nobody wrote.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.typed_columns import IDS, KEY
from ameles.core.guarantee import EVENT, USER, Unit
from ameles.core.loss import Approx
from ameles.core.rules import CURRENT, SOUND_KEYS
from ameles.engine.engine import Engine
from ameles.ledger import Ledger
from ameles.noise import Zero
from ameles.plan.plan import read_plan_text
from ameles.query import Query, Table
from ameles.store import open_store
from tests.connectors.parquet.test_scan import write
from tests.engine.tags import START, TAGS, Event, Tags
from tests.query.tables import ledger, table

DECLARED = (
    '[[release]]\nname = "some"\nmeasure = "count"\nby = { tag = ["fine", "x\ufffd", "x?"] }\n'
)
OTHER = DECLARED.replace('"some"', '"rest"') + "other = true\n"
BROKEN = (b"x\xff", b"x\xfe", b"x\xc3")
MARKS = (b"z\xff\xff\xff", b"z\xfe\xfe\xfe")
USERS = 12


def lines(kind: str) -> bytes:
    """Twelve users with a sound key, and twelve with each of the broken ones."""
    made = []
    for place, tag in enumerate((b"fine", *BROKEN)):
        for user in range(USERS):
            at, who, *_ = (one.encode() for one in Event(1, f"{place}-{user}", "").fields)
            if kind == "csv":
                made.append(b",".join([at, who, tag, b"north", b"1"]))
            else:
                made.append(b'{"at":"%s","who":"%s","tag":"%s"}' % (at, who, tag))
    return b"\n".join(made) + b"\n"


def world(folder: Path, kind: str) -> Tags:
    tags = Tags(folder, TAGS + DECLARED + OTHER, horizon=4, privacy="epsilon = 300\ndelta = 0.01")
    if kind == "jsonl":
        tags.in_json()
    return tags


def fill(tags: Tags) -> Tags:
    with tags.file.open("ab") as file:
        file.write(lines(tags.file.suffix[1:]))
    return tags


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_broken_key_counts_nowhere_or_in_other(kind: str, tmp_path: Path) -> None:
    tags = fill(world(tmp_path, kind))
    tags.run(1)
    assert {(name, key): value for (name, _, key), (value, _) in tags.published().items()} == {
        ("tags", "fine"): USERS,
        ("some", "fine"): USERS,
        ("some", "x\ufffd"): 0,
        ("some", "x?"): 0,
        ("rest", "fine"): USERS,
        ("rest", "x\ufffd"): 0,
        ("rest", "x?"): 0,
        ("rest", "other"): 3 * USERS,
    }


def test_a_stream_that_was_launched_before_keeps_its_keys(tmp_path: Path) -> None:
    tags = world(tmp_path, "csv")
    tags.run(0)
    with closing(sqlite3.connect(tmp_path / "s.db")) as store:
        store.execute("UPDATE stream SET rules = ?", (SOUND_KEYS - 1,))
        store.commit()
    fill(tags).run(1)
    published = tags.published()
    assert published["some", 1, "x\ufffd"] == (3 * USERS, "")
    assert published["tags", 1, "x\ufffd"] == (3 * USERS, "")


def test_columns_of_keys_are_read_as_keys_and_no_others(tmp_path: Path) -> None:
    plan = Tags(tmp_path, TAGS + "where = \"region = 'north'\"\n").plan
    assert plan.rules == CURRENT
    kinds = {"tag": KEY, "region": "text", "who": IDS["text"], "amount": "integer"}
    assert {name: plan.kinds[name] for name in kinds} == kinds
    assert replace(plan, rules=SOUND_KEYS - 1).kinds["tag"] == "text"
    by_user = Tags(tmp_path, TAGS.replace("tag =", "who =")).plan
    assert by_user.kinds["who"] == IDS["text"]  # no id is broken


PARQUET = """
[stream]
name = "s"
source = "*.parquet"
time = "at"
columns = { at = "timestamp", id = "integer", who = "text" }
start = "2026-01-01"
every = "1d"
horizon = 2
[privacy]
population = "people"
unit = "user"
user = "id"
max_per_step = 1
max_steps = 1
epsilon = 300
delta = 0.01
[[release]]
name = "tags"
measure = "count"
by = { who = "discovered" }
[[release]]
name = "some"
measure = "count"
by = { who = ["fine", "z???", "x?"] }
[store]
url = "s.db"
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_broken_keys_in_parquet(hidden: bool, tmp_path: Path) -> None:
    """A question mark stands for each broken byte; one that somebody wrote is a character."""
    more = ", row_number() OVER () AS id, TIMESTAMP '2026-01-01' AS at"
    more += ", 1 AS file_index" if hidden else ""
    write(tmp_path / "a.parquet", b"fine", b"z???", *MARKS, times=USERS, more=more)
    plan = read_plan_text(PARQUET, base=tmp_path)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        Engine(plan, store, noise=Zero()).run(START.replace(day=2))
        with store.reading() as transaction:
            stream = transaction.stream("s")
            assert stream is not None
            told = {(r.release, r.key): r.value for r in transaction.releases(stream)}
    # where the places of rows are hidden, nothing tells a written question mark from others
    marks = 0 if hidden else USERS
    wanted = {("tags", "fine"): USERS, ("some", "fine"): USERS, ("some", "x?"): 0}
    wanted |= {("some", "z???"): marks} | ({("tags", "z???"): marks} if marks else {})
    assert told == wanted


def paid(unit: Unit = EVENT) -> Ledger:
    return ledger(unit, cap=Approx(10_000, "0.5"), noise=Zero())


def parts(file: Path, column: str) -> dict[str, float]:
    read: Query = Table.from_file(
        file, columns={"n": "integer", column: "text"}, account=paid(), unit="row"
    )
    assert read.noisy_count(epsilon=1).value is not None
    counts = read.private_partition(column).noisy_count(epsilon=300, delta="1e-3")
    declared = read.partition(**{column: ["x\ufffd", "z???"]}).noisy_count(epsilon=1)
    return {
        f"{kind} {row.key[0]}": float(row.value or 0)
        for kind, answer in (("found", counts), ("declared", declared))
        for row in answer.rows
    }


def test_tables_have_the_same_keys_as_streams(tmp_path: Path) -> None:
    rows = [b"n,tag"] + [b"%d,%s" % (n, tag) for tag in (b"fine", *BROKEN) for n in range(20)]
    (tmp_path / "t.csv").write_bytes(b"\n".join(rows) + b"\n")
    wanted = {"found fine": 20.0, "declared x\ufffd": 0.0, "declared z???": 0.0}
    assert parts(tmp_path / "t.csv", "tag") == wanted
    write(tmp_path / "t.parquet", b"fine", *MARKS, times=20)
    assert parts(tmp_path / "t.parquet", "who") == wanted


def test_tables_have_no_key_that_a_stream_could_not_show() -> None:
    tags = ("\a", "", "x" * 257, "fi\ufffd", "a/b", "fine", None)
    rows = [(user, 1, 1, tag) for user in range(50) for tag in tags]
    loss: dict[str, Any] = {"epsilon": 300, "delta": "1e-3"}
    for visits in (
        table(rows, account=paid()),
        table(rows, account=paid(USER), user="id", max_rows=7, max_groups=2),
    ):
        keys = visits.private_keys("region", **loss)
        assert [row.key for row in keys.rows] == [("a/b",), ("fine",)]
        joined = visits.private_keys("region", joined=True, **loss)
        assert [row.key for row in joined.rows] == [("fine",)]
        counts = visits.private_partition("region").noisy_count(**loss)
        assert [row.key for row in counts.rows] == [("a/b",), ("fine",)]
