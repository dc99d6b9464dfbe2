"""``ameles serve``: everything that could be refused is refused before the first stream begins."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ameles.engine.engine import Engine
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan
from ameles.service import server
from ameles.service.log import Log
from ameles.service.proxies import TrustedProxies
from ameles.store import exists, open_store
from tests.cli.conftest import Program, TypeIn

HERE = "127.0.0.1:0"


@pytest.fixture
def until(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Replaces the server: what is given runs instead of it."""

    def replaced(what: Callable[[], None]) -> None:
        def run(
            app: object, opened: object, log: Log, stop: threading.Event, *rest: object
        ) -> None:
            what()

        monkeypatch.setattr("ameles.service.service.run_server", run)

    return replaced


def test_streams_are_followed_while_the_server_runs(
    fresh: Path, ameles: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    until(lambda: None)
    ended = ameles("serve", "ameles.toml", "--listen", HERE, "--log", "json")
    assert (ended.code, ended.out) == (0, "")
    events = [json.loads(line) for line in ended.err.splitlines() if line.startswith("{")]
    assert events[0]["event"] == "serving"
    assert events[0]["address"].startswith("http://127.0.0.1:")
    assert [one["event"] for one in events if one.get("stream") == "flu"][:1] == ["launched"]
    assert events[-1]["event"] in ("ended", "stopped")


def test_without_a_yes_a_stream_waits_for_its_launch_and_the_others_go_on(
    site: Path, typed: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off a terminal; once somebody has launched it, the service follows it, too."""
    text = (site / "ameles.toml").read_text(encoding="utf-8")
    text = text.replace('name = "flu"', 'name = "colds"').replace("releases.csv", "colds.csv")
    text = text.replace('"flu.db"', '"colds.db"')
    (site / "colds.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("ameles.service.following.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("ameles.service.following.LONGEST_PAUSE", 0.01)
    monkeypatch.setattr("ameles.service.served_store.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("ameles.service.served_store.LONGEST_PAUSE", 0.01)
    refused, ended = threading.Event(), threading.Event()
    say = Log.say

    def listened(log: Log, event: str, **fields: object) -> None:
        say(log, event, **fields)
        if fields.get("stream") == "colds":
            {"refused": refused, "ended": ended}.get(event, threading.Event()).set()

    def run(*parts: object) -> None:
        assert refused.wait(600)
        assert not (site / "colds.csv").exists()
        plan = read_plan(site / "colds.toml")
        assert not exists(str(site / "colds.db")), "nothing is spent"
        with open_store(str(site / "colds.db")) as store:
            Engine(plan, store).run(instant(plan.clock.end_of(1)))  # somebody launches it
        assert ended.wait(600)

    monkeypatch.setattr(Log, "say", listened)
    monkeypatch.setattr("ameles.service.service.run_server", run)
    served = typed("serve", "colds.toml", "ameles.toml", "--listen", HERE, "--log", "json")
    assert served.code == 0, served.err
    events = [json.loads(line) for line in served.err.splitlines()]
    about = [one for one in events if one.get("stream") == "colds"]
    went_on = [one["event"] for one in about if one["event"] != "refused"]
    assert went_on[:2] == ["following", "released"], "it launched nothing itself"
    assert about[0]["what"].startswith("Stream 'colds' waits for its launch, which spends epsilon")
    assert "following" in [one["event"] for one in events if one.get("stream") == "flu"]


def test_a_stream_that_waits_for_its_launch_is_not_told_about_its_source(
    fresh: Path, typed: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    (fresh / "visits.csv").unlink()
    until(lambda: None)
    ended = typed("serve", "ameles.toml", "--listen", HERE)
    assert ended.code == 1
    assert "waits for its launch" in ended.err
    assert "No file matches" in typed("serve", "ameles.toml", "--listen", HERE, "--yes").err


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("answer", ["y\n", "n\n"])
def test_on_a_terminal_it_asks(
    typed: Program,
    type_in: TypeIn,
    until: Callable[[Callable[[], None]], None],
    answer: str,
) -> None:
    until(lambda: None)
    type_in(answer)
    ended = typed("serve", "ameles.toml", "--listen", HERE)
    assert "Launch it? [y/N]" in ended.err
    assert (ended.code, "launched stream=flu" in ended.err) == ((0, True), (2, False))[
        answer[0] == "n"
    ]
    assert exists("flu.db") is (answer[0] == "y")


def test_a_stream_that_fails_is_the_exit_code(
    site: Path, ameles: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    until(lambda: None)
    with open_store(str(site / "flu.db")) as store, store.holding("flu"):
        ended = ameles("serve", "ameles.toml", "--listen", HERE)
    assert ended.code == 1
    assert "refused stream=flu" in ended.err


@pytest.mark.usefixtures("site")
def test_trusted_proxies_reach_the_service(
    ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[TrustedProxies] = []

    def build(*parts: object, proxies: TrustedProxies, **others: object) -> None:
        given.append(proxies)

    monkeypatch.setattr("ameles.service.service.build_app", build)
    monkeypatch.setattr("ameles.service.service.run_server", lambda *parts: None)
    named = ("--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1")
    assert ameles("serve", "ameles.toml", "--listen", HERE, *named).code == 0
    (proxies,) = given
    assert proxies.client("10.1.1.1", [b"192.0.2.7, ::1"]) == "192.0.2.7"
    ended = ameles("serve", "ameles.toml", "--listen", HERE, "--trusted-proxy", "everybody")
    assert ended.code == 2
    assert "--trusted-proxy must be" in ended.err


def test_sigterm_ends_it(site: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(app: object, opened: object, log: Log, stop: threading.Event, *_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(600)

    monkeypatch.setattr("ameles.service.service.run_server", run)
    assert ameles("serve", "ameles.toml", "--listen", HERE).code == 0


@pytest.mark.usefixtures("site")
def test_two_plans_of_one_name_are_refused(ameles: Program) -> None:
    ended = ameles("serve", "ameles.toml", "ameles.toml", "--listen", HERE)
    assert ended.code == 2
    assert "name 'flu'" in ended.err


def test_a_plan_that_cannot_be_launched_leaves_nothing_behind(fresh: Path, ameles: Program) -> None:
    plan = fresh / "ameles.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("epsilon", "epsilom", 1))
    assert ameles("serve", "ameles.toml", "--listen", HERE).code == 2
    assert not (fresh / "flu.db").exists()


@pytest.mark.usefixtures("site")
def test_a_taken_port_is_refused(ameles: Program) -> None:
    opened = server.listening(HERE)
    try:
        port = opened.getsockname()[1]
        ended = ameles("serve", "ameles.toml", "--listen", f"127.0.0.1:{port}")
    finally:
        opened.close()
    assert ended.code == 1
    assert "Nothing can listen" in ended.err


@pytest.mark.usefixtures("site")
def test_without_its_packages_it_says_what_to_install(
    ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.cli.serve.version", lambda package: None)
    ended = ameles("serve", "ameles.toml")
    assert ended.code == 1
    assert "pip install '.[serve]'" in ended.err


def test_a_store_that_is_down_at_the_start_stops_no_other_stream(
    fresh: Path, ameles: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    copied(fresh, "colds", url="postgresql://me:hunter2@127.0.0.1:1/colds")
    until(lambda: None)
    ended = ameles("serve", "ameles.toml", "colds.toml", "--listen", HERE, "--log", "json", "--yes")
    events = [json.loads(line) for line in ended.err.splitlines() if line.startswith("{")]
    assert ended.code == 1, "a stream has failed"
    flu = [one["event"] for one in events if one.get("stream") == "flu"]
    assert flu[0] == "launched"
    (refused,) = [one for one in events if one.get("stream") == "colds"]
    assert refused["event"] == "refused"
    assert refused["what"] == "The store 'postgresql://me@127.0.0.1:1/colds' cannot be reached."
    assert "hunter2" not in ended.err


@pytest.mark.usefixtures("site")
def test_a_service_waits_for_the_only_store_too(
    site: Path, ameles: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    until(lambda: None)
    plan = copied(site, "colds", url="postgresql://127.0.0.1:1/colds")
    ended = ameles("serve", plan, "--listen", HERE, "--log", "json", "--yes")
    assert ended.code == 1
    assert '"event":"serving"' in ended.err


@pytest.mark.usefixtures("site")
def test_a_store_that_nobody_can_use_as_it_is_ends_a_service_that_has_no_other(
    site: Path, ameles: Program, until: Callable[[Callable[[], None]], None]
) -> None:
    until(lambda: None)
    (site / "notes.txt").write_text("no store\n", encoding="utf-8")
    (site / "notes.txt").chmod(0o600)
    plan = copied(site, "colds", url="notes.txt")
    alone = ameles("serve", plan, "--listen", HERE, "--yes")
    assert (alone.code, "is not a store of Ameles" in alone.err) == (4, True)
    both = ameles("serve", "ameles.toml", plan, "--listen", HERE, "--log", "json", "--yes")
    assert (both.code, '"event":"serving"' in both.err) == (1, True)


@pytest.mark.usefixtures("site")
def test_a_wrong_plan_ends_a_service_whose_store_is_down(site: Path, ameles: Program) -> None:
    plan = copied(site, "colds", url="postgresql://127.0.0.1:1/colds", more='[[sink]]\ncsv = ""\n')
    assert ameles("serve", plan, "--listen", HERE, "--yes").code == 2


def copied(site: Path, name: str, *, url: str, more: str = "") -> str:
    """A plan like that of the site, of another stream with another store."""
    text = (site / "ameles.toml").read_text(encoding="utf-8")
    text = text.replace('name = "flu"', f'name = "{name}"', 1)
    head, _, rest = text.partition("[store]\n")
    _, _, rest = rest.partition("\n")
    file = site / f"{name}.toml"
    file.write_text(f'{head}[store]\nurl = "{url}"\n{rest}{more}', encoding="utf-8")
    return str(file)
