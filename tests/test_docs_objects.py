"""The page about buckets is followed: its plan counts, and another upload needs a word."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.conftest import typed as ameles
from tests.s3_server import serving

PAGE = (Path(__file__).parents[1] / "docs" / "objects.md").read_text(encoding="utf-8")
__all__ = ["ameles"]  # a fixture
REST = """
[privacy]
population = "visitors"
unit = "event"
epsilon = 1000
[[release]]
name = "visits"
measure = "count"
[store]
url = "flu.db"
"""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_is_followed(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    plan, connection = blocks("toml")
    made, run, again = blocks("sh")
    options = dict(re.findall(r'^(\w+) = "(.*)"$', made, re.MULTILINE))
    assert options.keys() == {"region", "access_key_id", "secret_access_key"}
    monkeypatch.chdir(tmp_path)
    with serving() as bucket:
        bucket.connection(tmp_path / "lake.toml")
        (tmp_path / "ameles.toml").write_text(f"{plan}horizon = 9\n{connection}{REST}")
        visits = "at,visitor,region\n2026-01-01T09:30:00Z,v17,north\n"
        bucket.put("visits/monday.csv", visits)
        _, *command = shlex.split(run)
        assert ameles(*command, "--until", "2026-01-02").code == 0
        bucket.put("visits/monday.csv", visits.replace("-01T", "-02T"))
        bucket.put("visits/tuesday.csv", visits.replace("-01T", "-02T"))
        refused = ameles(*command, "--until", "2026-01-03")
        assert refused.code == 1
        assert "'visits/monday.csv' was uploaded again" in refused.err
        new, same = (shlex.split(line, comments=True)[1:] for line in again.splitlines())
        assert ameles(*new, "--until", "2026-01-04").code == 0
        bucket.put("visits/tuesday.csv", visits)
        assert ameles(*same, "--until", "2026-01-05").code == 0
        lines = ameles("releases", "--json").out.splitlines()
        assert [json.loads(line)["value"] for line in lines] == [1, 2, 3, 3]
        bucket.away = True
        assert ameles(*command).code == 1
