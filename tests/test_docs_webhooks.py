"""The page about webhooks is followed: its plan, its secret, its message and both its receivers."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan_text
from ameles.store import open_store
from tests.connectors.webhook.webhook_receiver import Message, receiving

PAGE = (Path(__file__).parents[1] / "docs" / "webhooks.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found: list[str] = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Message, str]:
    """What the page's plan sends about a wave, and the page's secret."""
    if shutil.which("openssl") is None:
        pytest.skip("the Debian package openssl is missing")
    folder = tmp_path_factory.mktemp("webhooks")
    subprocess.run(["sh", "-c", block("sh")], cwd=folder, check=True)
    rows = "2026-01-01,true\n" * 100_000
    (folder / "visits.csv").write_text("reported_at,fever\n" + rows, encoding="ascii")
    with receiving() as receiver:
        text = block("toml").replace("https://example.org/hooks/wave", receiver.url)
        with closing(open_store(str(folder / "wave.db"))) as store:
            plan = read_plan_text(text, base=folder)
            Engine(plan, store).run(datetime.fromisoformat("2026-01-02T00:00:00Z"))
    (message,) = receiver.messages
    return message, (folder / "hook.secret").read_text(encoding="ascii")


def test_a_message_has_the_fields_that_the_page_shows(sent: tuple[Message, str]) -> None:
    shown, real = json.loads(block("json")), json.loads(sent[0].body)
    assert (list(shown), shown["type"]) == (list(real), real["type"])
    assert list(shown["data"]) == list(real["data"])
    (ours,), (theirs,) = shown["data"]["releases"], real["data"]["releases"]
    same = ("stream", "release", "key", "value", "low", "high", "label", "mechanism", "entry")
    assert list(ours) == list(theirs)
    assert [ours[name] for name in same] == [theirs[name] for name in same]


def in_python(headers: dict[str, str], body: bytes, secret: str, folder: Path) -> bool:
    written = folder / "receiver.py"
    written.write_text(block("python"), encoding="utf-8")
    return bool(runpy.run_path(str(written))["genuine"](headers, body, secret))


def in_javascript(headers: dict[str, str], body: bytes, secret: str, folder: Path) -> bool:
    if shutil.which("node") is None:
        pytest.skip("the Debian package nodejs is missing")
    given = json.dumps([headers, body.hex(), secret])
    asked = f"const [h, b, s] = {given};\nconsole.log(genuine(h, Buffer.from(b, 'hex'), s));\n"
    (folder / "receiver.js").write_text(block("js") + asked, encoding="utf-8")
    run = subprocess.run(
        ["node", "receiver.js"], cwd=folder, check=True, capture_output=True, text=True
    )
    return {"true": True, "false": False}[run.stdout.strip()]


@pytest.mark.parametrize("genuine", [in_python, in_javascript])
def test_a_receiver_of_the_page_accepts_what_is_genuine_alone(
    genuine: Callable[[dict[str, str], bytes, str, Path], bool],
    sent: tuple[Message, str],
    tmp_path: Path,
) -> None:
    message, secret = sent
    headers = {name.lower(): value for name, value in message.headers.items()}
    assert genuine(headers, message.body, secret, tmp_path)
    two = {**headers, "webhook-signature": f"v1,x {headers['webhook-signature']}"}
    assert genuine(two, message.body, secret, tmp_path)
    old = {**headers, "webhook-timestamp": str(int(time.time()) - 900)}
    other = {**headers, "webhook-id": "msg_other"}
    unsigned = {**headers, "webhook-signature": "v1,x"}
    for forged in (old, other, unsigned):
        assert not genuine(forged, message.body, secret, tmp_path)
    assert not genuine(headers, message.body + b" ", secret, tmp_path)
