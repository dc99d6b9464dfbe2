"""The page about Kafka is followed: its programs and commands work on a real broker."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition

from ameles.plan.plan import read_plan_text
from tests.cli.conftest import Program
from tests.cli.conftest import typed as ameles
from tests.kafka_server import Cluster

PAGE = (Path(__file__).parents[1] / "docs" / "kafka.md").read_text(encoding="utf-8")
__all__ = ["ameles"]  # a fixture
REST = """
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


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_is_followed(kafka: Cluster, tmp_path: Path, ameles: Program) -> None:
    plan, avro, connection, sink = blocks("toml")
    send, receive = (text.replace("localhost:9092", kafka.servers) for text in blocks("python"))
    make, skip = blocks("sh")
    subprocess.run(["sh", "-c", make], check=True, cwd=tmp_path, timeout=600)
    secret = tmp_path / "kafka.toml"
    assert os.stat(secret).st_mode & 0o077 == 0
    assert "SCRAM-SHA-512" in secret.read_text()
    secret.write_text("")  # this broker asks for nothing
    read_plan_text(plan.replace('format = "jsonl"\n', "") + avro + REST)

    kafka.create("visits")
    kafka.create("releases")
    text = plan + connection + REST + sink
    (tmp_path / "ameles.toml").write_text(text.replace("localhost:9092", kafka.servers))
    file = str(tmp_path / "ameles.toml")
    (tmp_path / "send.py").write_text(send)
    (tmp_path / "receive.py").write_text(receive)
    runpy.run_path(str(tmp_path / "send.py"))
    assert ameles("run", file, "--until", "2026-01-02", "--yes").code == 0
    for _ in range(2):
        runpy.run_path(str(tmp_path / "send.py"))
    admin = kafka.admin()
    (removed,) = admin.delete_records([TopicPartition("visits", 0, 2)]).values()
    removed.result()
    refused = ameles("run", file, "--until", "2026-01-03")
    assert refused.code == 1
    assert "removed before they were read" in refused.err
    _, command, option, why = shlex.split(skip)
    assert ameles(command, file, option, why, "--until", "2026-01-03").code == 0
    shown = json.loads(ameles("status", file, "--json").out)
    assert shown["released"] == 2
    assert [gap["why"] for gap in shown["gaps"]] == [why]
    assert "step 2" in ameles("status", file).out

    program = runpy.run_path(str(tmp_path / "receive.py"))
    read: list[dict[str, Any]] = []
    while len(read) < 2:
        read += program["releases"]()
    program["consumer"].close()
    stored = [json.loads(line) for line in ameles("releases", file, "--json").out.splitlines()]
    assert [(one["step"], one["value"]) for one in read] == [
        (one["step"], one["value"]) for one in stored
    ]
