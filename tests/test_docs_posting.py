"""The page about posting is followed: its plan, its requests and its program work as it says."""

from __future__ import annotations

import http.client
import io
import json
import re
import runpy
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ameles.client import Sender
from ameles.core.token import new_token, token_digest
from ameles.plan.plan import read_plan_text
from ameles.service.log import Log
from ameles.service.server import listening, url_of
from ameles.service.service import Service
from ameles.store import open_store

PAGE = (Path(__file__).parents[1] / "docs" / "posting.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


@dataclass
class Running:
    """The page's plan, served."""

    url: str
    bearer: str

    def curl(self, command: str, step: int) -> tuple[int, dict[str, object]]:
        """Does what a curl command of the page says, in this process."""
        text = command.replace("$TOKEN", self.bearer).replace(
            "Ameles-Step: 7", f"Ameles-Step: {step}"
        )
        body = re.search(r"--data-binary \$'(.*)'", text, re.DOTALL)
        words = shlex.split(re.sub(r"--data-binary .*", "", text, flags=re.DOTALL))
        headers = dict(
            words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H"
        )
        path = next(word for word in words if word.startswith("localhost:8421"))
        return self.ask(
            path.removeprefix("localhost:8421"),
            headers,
            None if body is None else body[1].replace("\\n", "\n").encode(),
        )

    def ask(
        self, path: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, dict[str, object]]:
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=600)) as sent:
            sent.request("GET" if body is None else "POST", path, body, headers)
            response = sent.getresponse()
            return response.status, json.loads(response.read())


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("posting")
    (text,) = blocks("toml")
    today = f'start = "{datetime.now(UTC).date()}"'
    text = text.replace('start = "2026-01-01"', today).replace('every = "1m"', 'every = "7d"')
    bearer, made = new_token(), datetime.now(UTC)
    stop = threading.Event()
    with (
        closing(open_store(str(folder / "visits.db"))) as store,
        closing(listening("127.0.0.1:0")) as opened,
    ):
        with store.writing() as transaction:
            transaction.add_token(
                digest=token_digest(bearer),
                name="website",
                stream="visits",
                scope="ingest",
                created=made,
                expires=made + timedelta(days=1),
            )
        service = Service([(read_plan_text(text, base=folder), store)], Log(io.StringIO()))
        thread = threading.Thread(target=service.run, args=(opened, stop), daemon=True)
        thread.start()
        while service.following.door("visits") is None:
            assert not service.following.failed
            threading.Event().wait(0.001)
        yield Running(url_of(opened), bearer)
        stop.set()
        thread.join(600)


def test_the_requests_of_the_page_get_its_answers(running: Running) -> None:
    asking, posting = re.findall(r"(curl .*?)\n# (\{.*?\})\n", blocks("sh")[1], re.DOTALL)
    status, answer = running.curl(asking[0], 0)
    assert (status, list(answer)) == (200, list(json.loads(asking[1])))
    step = answer["step"]
    assert isinstance(step, int)
    for _ in range(2):
        status, answer = running.curl(posting[0], step)
        assert status == 200
        assert answer["outcome"] == json.loads(posting[1])["outcome"]
        assert list(answer) == list(json.loads(posting[1]))
    status, answer = running.curl(posting[0], step + 1)
    assert (status, answer["step"]) == (409, step)


def test_the_program_of_the_page_sends(running: Running, tmp_path: Path) -> None:
    (program,) = blocks("python")
    written = tmp_path / "page.py"
    written.write_text(program.replace("http://127.0.0.1:8421", running.url), encoding="utf-8")
    sender = runpy.run_path(str(written), {"TOKEN": running.bearer})["sender"]
    assert isinstance(sender, Sender)
    assert sender.uncertain == 0


def test_the_table_has_every_status_of_the_description(running: Running) -> None:
    _, description = running.ask("/openapi.json", {}, None)
    paths = description["paths"]
    assert isinstance(paths, dict)
    described = set(paths["/v1/streams/{name}/events"]["post"]["responses"])
    table = set(re.findall(r"\b[245]\d\d\b", "".join(re.findall(r"^\| [\d, ]+ \|", PAGE, re.M))))
    assert table == described
