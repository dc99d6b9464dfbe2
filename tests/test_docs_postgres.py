"""The page about Postgres is followed: its statements make a table that counts and stays."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import Program
from tests.cli.conftest import typed as ameles
from tests.event_tables import secret_file, url_of
from tests.postgres import SIGN_IN, Server

PAGE = (Path(__file__).parents[1] / "docs" / "postgres.md").read_text(encoding="utf-8")
__all__ = ["ameles"]  # a fixture
REST = """
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


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_is_followed(postgres: Server, tmp_path: Path, ameles: Program) -> None:
    plan, connection = blocks("toml")
    column, guard, rights, retention = blocks("postgresql")
    _, skip = blocks("sh")
    file = str(tmp_path / "ameles.toml")
    secret_file(tmp_path)
    database = postgres.new_database()
    url = url_of(postgres, "visits", user="reader", database=database)
    text = re.sub('"postgresql://[^"]*"', f'"{url}"', plan) + "horizon = 3\n" + connection
    (tmp_path / "ameles.toml").write_text(text + REST)
    add = "INSERT INTO visits VALUES ('2026-01-01 09:30+00', 'v17', 'north')"
    with postgres.admin(database) as admin:
        admin.execute("CREATE TABLE visits (at timestamptz, visitor text, region text)")
        admin.execute(add)
        for statements in (column, guard, rights):
            refused = ameles("run", file, "--until", "2026-01-02", "--yes")
            assert refused.code == 1
            admin.execute(statements)
        admin.execute(f"ALTER ROLE reader PASSWORD '{SIGN_IN}'")
        assert ameles("run", file, "--until", "2026-01-02", "--yes").code == 0
        with pytest.raises(psycopg.Error, match="only added"):
            admin.execute("DELETE FROM visits")
        admin.execute(retention)
        admin.execute(add.replace("2026-01-01", "2020-01-01"))
        admin.execute("DELETE FROM visits WHERE at < '2021-01-01'")
        admin.execute(f"{add[:26]} (now(), 'v18', 'south')")
        with pytest.raises(psycopg.Error, match="only added"):
            admin.execute("DELETE FROM visits")
        with pytest.raises(psycopg.Error, match="only added"):
            admin.execute("TRUNCATE visits")
        assert ameles("run", file, "--until", "2026-01-03").code == 0
        admin.execute("ALTER TABLE visits RENAME TO old_visits")
        admin.execute("CREATE TABLE visits (LIKE old_visits INCLUDING ALL)")
        admin.execute(
            "CREATE TRIGGER rows_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON visits "
            "EXECUTE FUNCTION rows_stay()"
        )
        admin.execute(rights.partition(";")[2])
        refused = ameles("run", file, "--until", "2026-01-04")
        assert refused.code == 1
        assert "is not as it was left" in refused.err
        _, command, option, why = shlex.split(skip)
        assert ameles(command, file, option, why, "--until", "2026-01-04").code == 0
        shown = json.loads(ameles("status", file, "--json").out)
        assert shown["released"] == 3
        assert [gap["why"] for gap in shown["gaps"]] == [why]
        exported = json.loads(ameles("ledger", file, "--export").out)
        (deployment,) = exported["deployments"]
        assert [gap["why"] for gap in deployment["gaps"]] == [why]
        admin.execute("DROP TABLE visits, old_visits")
        admin.execute("DROP OWNED BY reader")
        admin.execute("DROP ROLE reader")
