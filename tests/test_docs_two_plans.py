"""The page about two plans of one population is followed, up to the search after a seizure."""

from __future__ import annotations

import io
import json
import re
import runpy
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ameles.plan.plan import read_plan
from ameles.service.log import Log
from ameles.service.server import listening, url_of
from ameles.service.service import Service
from ameles.store import Store, open_store
from tests.test_docs_posting import Running
from tests.warm_processes import run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "two_plans.md").read_text(encoding="utf-8")
CANARY = "an-answer-4711"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def ameles(folder: Path, command: str) -> str:
    """What a command of the page says, run in the folder of the plans."""
    assert any(command in block for block in blocks("sh"))
    ended = run("-m", *command.split(), cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout)


@dataclass
class Site:
    """Both plans of the page, served."""

    folder: Path
    url: str
    token: str
    store: Store

    @property
    def asking(self) -> Running:
        return Running(self.url, self.token)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site") / "two_plans"
    shutil.copytree(ROOT / "examples" / "two_plans", folder)
    begin, *_ = blocks("sh")
    prepare = [line for line in begin.splitlines() if line.startswith(("sed", "echo"))]
    subprocess.run(["sh", "-ec", "\n".join(prepare)], cwd=folder, check=True)
    for name in ("visits.toml", "answers.toml"):  # no step shall end while this is tested
        text = (folder / name).read_text(encoding="utf-8")
        assert str(datetime.now(UTC).date()) in text
        (folder / name).write_text(text.replace('"1m"', '"7d"'), encoding="utf-8")
    assert "What it keeps may be seized once" in ameles(folder, "ameles plan answers.toml")
    plans = [read_plan(folder / "visits.toml"), read_plan(folder / "answers.toml")]
    stop = threading.Event()
    with (
        closing(open_store(str(folder / "site.db"))) as store,
        closing(listening("127.0.0.1:0")) as opened,
    ):
        service = Service([(plan, store) for plan in plans], Log(io.StringIO()))
        thread = threading.Thread(target=service.run, args=(opened, stop), daemon=True)
        thread.start()
        while service.following.door("answers") is None or service.following.starting:
            assert not service.following.failed
            threading.Event().wait(0.001)
        token = ameles(folder, "ameles token create answers.toml --scope ingest --name site")
        yield Site(folder, url_of(opened), token.strip(), store)
        stop.set()
        thread.join(600)


def test_both_streams_are_on_one_page_for_everybody(site: Site) -> None:
    status, answer = site.asking.ask("/v1/streams", {}, None)
    streams = answer["streams"]
    assert isinstance(streams, list)
    assert status == 200
    assert [(one["name"], one["state"]) for one in streams] == [
        ("visits", "running"),
        ("answers", "running"),
    ]


def test_answers_are_posted_as_the_page_says(site: Site, tmp_path: Path) -> None:
    (program,) = blocks("python")
    written = tmp_path / "page.py"
    written.write_text(program.replace("http://127.0.0.1:8421", site.url), encoding="utf-8")
    assert runpy.run_path(str(written), {"TOKEN": site.token})["sender"].uncertain == 0
    shown = next(block for block in blocks("sh") if "curl" in block)
    asking, posting = re.findall(r"(curl .*?)\n# (\{.*?\})\n", shown, re.DOTALL)
    status, answer = site.asking.curl(asking[0], 0)
    assert (status, list(answer)) == (200, list(json.loads(asking[1])))
    step = answer["step"]
    assert isinstance(step, int)
    status, answer = site.asking.curl(posting[0], step)
    assert (status, answer["outcome"]) == (200, "counted")
    assert list(answer) == list(json.loads(posting[1]))


def test_one_ledger_has_both_and_nothing_is_left(site: Site) -> None:
    said = ameles(site.folder, "ameles ledger visits.toml")
    first, _, *rows = blocks("text")[0].splitlines()
    assert first in said
    printed = [line.split() for line in said.splitlines()]
    for row in rows:  # the page leaves the times out, and either stream may be launched first
        cells = row.split()[1:]
        assert any(cells == [one for one in line if one in cells] for line in printed), row
    third = (site.folder / "visits.toml").read_text(encoding="utf-8")
    third = third.replace('"visits"', '"third"').replace("visits-releases", "third")
    (site.folder / "third.toml").write_text(third, encoding="utf-8")
    ended = run("-m", "ameles", "run", "third.toml", "--yes", cwd=site.folder)
    assert ended.returncode == 3
    (site.folder / "third.toml").unlink()


def test_a_search_after_a_seizure_finds_no_answer(site: Site) -> None:
    step = site.asking.ask(
        "/v1/streams/answers/events", {"Authorization": f"Bearer {site.token}"}, None
    )[1]["step"]
    headers = {
        "Authorization": f"Bearer {site.token}",
        "Ameles-Step": str(step),
        "Ameles-Batch": "seized",
        "Content-Type": "application/json",
    }
    body = json.dumps([{"fever": True, "cough": False, "note": CANARY}]).encode()
    assert site.asking.ask("/v1/streams/answers/events", headers, body)[0] == 200
    with (site.folder / "visits.csv").open("a", encoding="utf-8") as log:
        log.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ},north\n")
    assert "grep -rl fever ." in blocks("sh")[-1]
    having = {
        text: {
            file.name.partition(".db")[0]
            for file in site.folder.rglob("*")
            if file.is_file() and text.encode() in file.read_bytes()
        }
        for text in (CANARY, "fever", ",north")
    }
    assert having == {CANARY: set(), "fever": {"answers.toml", "site"}, ",north": {"visits.csv"}}
