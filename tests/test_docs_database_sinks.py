"""The page about sinks in databases is followed: its table is the one that Ameles makes."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.conftest import typed as ameles
from tests.event_tables import secret_file, url_of
from tests.postgres import SIGN_IN, Server
from tests.redis_server import MISSING, serving

PAGE = (Path(__file__).parents[1] / "docs" / "database_sinks.md").read_text(encoding="utf-8")
__all__ = ["ameles"]  # a fixture
PLAN = """
[stream]
name = "flu"
source = "events.csv"
columns = { at = "timestamp" }
time = "at"
start = "2026-01-01"
every = "1d"
horizon = 3
[privacy]
population = "visitors"
unit = "event"
epsilon = 1
[[release]]
name = "visits"
measure = "count"
[store]
url = "flu.db"
"""
SHAPE = (
    "SELECT attname, atttypid::regtype::text, attnotnull, pg_get_indexdef(indexrelid) "
    "FROM pg_attribute LEFT JOIN pg_index ON indrelid = attrelid WHERE attrelid = %s::regclass "
    "AND attnum > 0 ORDER BY attnum"
)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_is_followed(postgres: Server, tmp_path: Path, ameles: Program) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    ((sinks,), (table,), (asked,)) = (blocks(kind) for kind in ("toml", "postgresql", "sh"))
    secret_file(tmp_path)
    (tmp_path / "events.csv").write_text("at\n2026-01-01T10:00:00Z\n")
    (tmp_path / "redis").mkdir()
    file = str(tmp_path / "ameles.toml")
    database = postgres.new_database()
    url = url_of(postgres, "releases", user="writer", database=database)
    with serving(tmp_path / "redis") as server, postgres.admin(database) as admin:
        admin.execute(f"CREATE ROLE writer LOGIN PASSWORD '{SIGN_IN}'")
        admin.execute("GRANT CREATE ON SCHEMA public TO writer")
        text = re.sub('"postgresql://[^"]*"', f'"{url}"', sinks)
        text = text.replace("localhost:6379", f"127.0.0.1:{server.port}")
        (tmp_path / "ameles.toml").write_text(PLAN + text)
        assert ameles("run", file, "--until", "2026-01-03", "--yes").code == 0
        rows = admin.execute("SELECT step, value FROM releases ORDER BY step").fetchall()
        assert [step for step, _ in rows] == [1, 2]
        program, command, stream, first, last = shlex.split(asked.replace("41", "2"))
        assert (program, command) == ("redis-cli", "XRANGE")
        with server.client() as client:
            found = client.xrange(stream, first, last)
        assert [(name, fields[b"value"]) for name, fields in found] == [
            (b"2-1", str(rows[1][1]).encode())
        ]
        shown = ameles("status", file).out
        assert shown.count("step 2") >= 2
        made = admin.execute(SHAPE, ("releases",)).fetchall()
        admin.execute("ALTER TABLE releases RENAME TO made; ALTER INDEX releases_pkey RENAME TO m")
        admin.execute(table)
        documented = admin.execute(SHAPE, ("releases",)).fetchall()
        assert [row[:3] for row in documented] == [row[:3] for row in made]
        keys = [row[0][3].partition("(")[2] for row in (documented, made)]
        assert keys[0] == keys[1]
        admin.execute("REVOKE CREATE ON SCHEMA public FROM writer")
        assert ameles("run", file, "--until", "2026-01-04").code == 0
        again = admin.execute("SELECT step, value FROM releases ORDER BY step").fetchall()
        assert again[:2] == rows, "a new table gets everything"
        assert len(again) == 3
        admin.execute("DROP TABLE releases, made")
        admin.execute("DROP OWNED BY writer")
        admin.execute("DROP ROLE writer")
