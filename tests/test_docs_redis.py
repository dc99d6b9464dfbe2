"""The page about Redis is followed: its plan counts, and a trimmed stream needs a reason."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.conftest import typed as ameles
from tests.redis_server import MISSING, serving

PAGE = (Path(__file__).parents[1] / "docs" / "redis.md").read_text(encoding="utf-8")
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


def test_the_page_is_followed(tmp_path: Path, ameles: Program) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    plan, connection = blocks("toml")
    (add,), (skip,) = ([block] for block in blocks("sh"))
    file = str(tmp_path / "ameles.toml")
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis.toml").write_text("")
    (tmp_path / "redis.toml").chmod(0o600)
    with serving(tmp_path / "redis") as server:
        text = plan.replace("localhost:6379", f"127.0.0.1:{server.port}") + "horizon = 3\n"
        (tmp_path / "ameles.toml").write_text(text + connection + REST)
        program, order, stream, where, *fields = shlex.split(add)
        assert (program, order, stream, where) == ("redis-cli", "XADD", "visits", "*")
        entry = dict(zip(fields[::2], fields[1::2], strict=True))
        with server.client() as client:
            client.xadd(stream, {**entry})
            assert ameles("run", file, "--until", "2026-01-02", "--yes").code == 0
            for _ in range(2):
                client.xadd(stream, {**entry})
            client.xtrim(stream, maxlen=1, approximate=False)
        refused = ameles("run", file, "--until", "2026-01-03")
        assert refused.code == 1
        assert "removed before they were read" in refused.err
        assert json.loads(ameles("status", file, "--json").out)["released"] == 1
        assert ameles("run", file, "--skip-gap", " ").code == 2
        _, command, option, why = shlex.split(skip)
        assert ameles(command, file, option, why, "--until", "2026-01-03").code == 0
        shown = json.loads(ameles("status", file, "--json").out)
        assert shown["released"] == 2
        assert [gap["why"] for gap in shown["gaps"]] == [why]
        assert why in ameles("status", file).out
    assert ameles("run", file).code == 1  # the server is away
