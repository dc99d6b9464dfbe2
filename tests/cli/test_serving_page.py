"""The page about serving is followed on the demo's site: its commands and its requests work."""

from __future__ import annotations

import http.client
import io
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ameles.engine.running.descriptions import Descriptions
from ameles.plan.plan import read_plan
from ameles.service.access import RATES
from ameles.service.log import Log
from ameles.service.metrics import evaluation, parameters, process, query
from ameles.service.metrics.families import FAMILIES
from ameles.service.readout import live
from ameles.service.server import listening
from ameles.service.service import Service
from ameles.store import open_store
from tests.cli.conftest import Program

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "serving.md").read_text(encoding="utf-8")
PROMETHEUS = (DOCS / "prometheus.md").read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


COMMANDS = commands(TEXT)
REQUESTS = [line for line in COMMANDS if line.startswith("curl ")]


@pytest.fixture
def port(site: Path) -> Iterator[int]:
    """The demo's stream, served."""
    stop = threading.Event()
    with (
        closing(open_store(str(site / "flu.db"))) as store,
        closing(listening("127.0.0.1:0")) as opened,
    ):
        plan = read_plan(site / "ameles.toml")
        Descriptions(plan, store).begin()  # which a service does beside its requests
        service = Service([(plan, store)], Log(io.StringIO()))
        served = threading.Thread(target=service.run, args=(opened, stop))
        served.start()
        yield opened.getsockname()[1]
        stop.set()
        served.join()


def asked(port: int, command: str, token: str) -> tuple[int, bytes]:
    """The answer to a curl command of the page; of one without an end, its beginning."""
    words = shlex.split(command.replace("$TOKEN", token))
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    data = [words[at + 1] for at, word in enumerate(words) if word in ("-d", "--data-urlencode")]
    form = urlencode([(name, text) for name, _, text in (pair.partition("=") for pair in data)])
    if form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    (path,) = (word for word in words if word.startswith("localhost:8421"))
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        method = "POST" if form else "GET"
        connection.request(method, path.removeprefix("localhost:8421"), form or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(10) if "/live" in path else answer.read()


def test_the_requests_of_the_page_are_answered(port: int, ameles: Program) -> None:
    token = ameles("token", "create", "--name", "reader", "--scope", "read").out.strip()
    admin = ameles("token", "create", "--name", "owner", "--scope", "admin").out.strip()
    for command in REQUESTS:
        status, body = asked(port, command.replace("$ADMIN", admin), token)
        assert status == 200, command
        assert body
    assert len(REQUESTS) == 13


def test_the_requests_of_the_page_about_prometheus_are_answered(port: int, ameles: Program) -> None:
    lines = commands(PROMETHEUS)
    (create,) = (line for line in lines if line.startswith("ameles token"))
    token = ameles(*shlex.split(create)[1:]).out.strip()
    admin = ameles("token", "create", "--name", "owner", "--scope", "admin").out.strip()
    requests = [line.replace("$ADMIN", admin) for line in lines if line.startswith("curl ")]
    assert len(requests) == 6
    for command in requests:
        status, body = asked(port, command, token)
        assert status == 200, command
        assert b"ameles_" in body or b'"north"' in body, command
    for number in (
        query.MOST_POINTS,
        evaluation.MOST_SERIES,
        evaluation.MOST_NUMBERS,
        parameters.LONGEST_BODY,
    ):
        assert f"| {number:,}" in PROMETHEUS


def test_the_dashboards_of_the_page_are_written(site: Path, ameles: Program) -> None:
    lines = [line for line in commands(PROMETHEUS) if line.startswith("ameles grafana")]
    assert len(lines) == 2
    for line in lines:
        assert ameles(*shlex.split(line)[1:]).code == 0
    (granted,) = re.findall(r"^GRANT SELECT ON (\w+) TO grafana;$", PROMETHEUS, re.MULTILINE)
    assert f"FROM {granted} " in (site / "grafana/dashboards/ameles/flu.json").read_text()


def test_the_page_about_prometheus_has_every_metric() -> None:
    assert all(f"`{family.name}`" in PROMETHEUS for family in FAMILIES)
    written = re.findall(r'"((?:process|ameles)_[a-z_]+)"', Path(process.__file__).read_text())
    assert len(set(written)) == 12
    assert all(f"`{name}`" in PROMETHEUS for name in written)


def test_the_commands_about_tokens_work(site: Path, ameles: Program) -> None:
    lines = [line for line in COMMANDS if line.startswith("ameles token")]
    assert len(lines) == 4
    for line in lines:
        assert ameles(*shlex.split(line)[1:]).code == 0


def test_the_page_has_the_limits_of_the_code() -> None:
    for number in (RATES["read"], RATES["ingest"], RATES[None], live.MOST_READERS):
        assert f"{number:,.0f}" in TEXT
    assert f"every {live.HEARTBEAT:.0f} seconds" in TEXT
    assert f"after {live.SLOW:.0f} seconds" in TEXT
