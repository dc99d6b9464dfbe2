"""``ameles run --follow`` as an operator meets it: a process of its own, with steps of one second,
real signals and real files.  An epsilon of 1000 leaves numbers exact: one of them is off with a
probability below e**-100."""

from __future__ import annotations

import csv
import fcntl
import json
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ameles.cli.status import look
from ameles.plan.plan import read_plan
from tests.cli.conftest import Program, hearing_interrupts
from tests.stand_in import bare_store, lock_store
from tests.warm_processes import start

LIMIT = 600.0  # seconds until a test gives up
CANARY = "cafebabe-canary"
PLAN = """
[stream]
name = "s"
source = "{source}"
{time}columns = {{ at = "timestamp", region = "text" }}
start = "{start}"
every = "1s"
{more}
[privacy]
population = "people"
unit = "event"
epsilon = 1000
{privacy}
[[release]]
name = "visits"
measure = "count"
by = {{ region = ["north", "south"] }}
[store]
url = "s.db"
{vault}
[[sink]]
csv = "releases.csv"
"""


def now() -> datetime:
    return datetime.now(UTC)


def row(region: str = "north") -> str:
    """An event of this moment, as a line of CSV."""
    return f"{now():%Y-%m-%dT%H:%M:%S.%fZ},{region}\n"


class Site:
    """A folder with a plan, and a follower of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / "ameles.toml"
        self.file = folder / "events.csv"
        self.process: subprocess.Popen[str] | None = None

    def write(
        self,
        source: str = "events.csv",
        *,
        timed: bool = True,
        more: str = "",
        privacy: str = "",
        vault: str = "",
    ) -> None:
        start = f"{now() - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
        time_key = 'time = "at"\n' if timed else ""
        text = PLAN.format(
            source=source, time=time_key, start=start, more=more, privacy=privacy, vault=vault
        )
        self.plan.write_text(text, encoding="utf-8")

    def append(self, *rows: str, file: Path | None = None) -> None:
        with (file or self.file).open("a", encoding="utf-8") as opened:
            opened.writelines(rows)

    def follow(self, *options: str) -> None:
        self.process = start(
            *("-m", "ameles", "run", "--follow", *options),
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hearing_interrupts,
        )

    def say(self, *rows: str) -> None:
        """Lines to the follower's standard input, which it has read and put into its queue: it has
        come back for the empty line after them."""
        assert self.process is not None
        assert self.process.stdin is not None
        pipe = self.process.stdin
        for text in ("".join(rows), "\n"):
            pipe.write(text)
            pipe.flush()
            self.wait(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))))

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str, str]:
        """The exit code and what was said, once the follower has ended."""
        assert self.process is not None
        out, err = self.process.communicate(timeout=LIMIT)
        assert "Traceback" not in err
        return self.process.returncode, out, err

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.send(number)
        return self.ended()

    def rows(self) -> list[dict[str, str]]:
        file = self.folder / "releases.csv"
        if not file.exists():
            return []
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        return list(csv.DictReader(line for line in lines if line.endswith("\n")))

    def totals(self, key: str = "north") -> list[int]:
        """The published line of a key; every step is there, once and in order."""
        lines = [line for line in self.rows() if line["key"] == key]
        assert [int(line["step"]) for line in lines] == list(range(1, len(lines) + 1))
        return [int(line["value"]) for line in lines]

    def total(self, key: str = "north") -> int:
        return (self.totals(key) or [0])[-1]

    def wait(self, happened: Callable[[], bool]) -> None:
        since = time.monotonic()
        while not happened():
            assert self.process is not None
            assert self.process.poll() is None, self.ended()
            assert time.monotonic() - since < LIMIT
            time.sleep(0.02)

    def wait_steps(self, count: int) -> None:
        """Until so many further steps are released."""
        before = len(self.totals())
        self.wait(lambda: len(self.totals()) >= before + count)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    yield from a_site(tmp_path)


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from a_site(tmp_path_factory.mktemp("other"))


def a_site(folder: Path) -> Iterator[Site]:
    site = Site(folder)
    yield site
    if site.process is not None and site.process.poll() is None:
        site.process.kill()
        site.ended()


def test_a_growing_file_is_followed_stopped_and_resumed(site: Site) -> None:
    site.write()
    site.append("at,region\n")
    site.follow()
    site.wait_steps(1)
    assert look(read_plan(site.plan), now=now()).running
    site.append(row(), row("south"), row(CANARY), f"{CANARY}\n")
    site.append(row().rstrip("\n"))  # torn: it counts when its newline comes
    site.wait(lambda: site.total() == 1)
    site.append("\n")
    site.wait(lambda: site.total() == 2)
    code, out, err = site.stop(signal.SIGTERM)
    assert (code, out) == (0, "")
    never, *said = err.splitlines()
    assert never.startswith("This plan was never checked against its source")
    assert said[0] == "Launched stream 's': epsilon 1000 of population 'people' is spent."
    assert said[1] == "Following events.csv from step 1 on; Ctrl-C or SIGTERM ends it."
    assert said[2].endswith(f"the stream is at step {len(site.totals())}.")
    assert len(said) == 5
    assert CANARY not in err
    before = site.rows()

    site.append(row(), row())  # while nothing runs
    site.follow("--json")
    site.wait(lambda: site.total() == 4)
    code, out, err = site.stop(signal.SIGINT)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "stream": "s",
        "launched": False,
        "released": len(site.totals()),
        "new": len(site.totals()) - int(before[-1]["step"]),
        "horizon": None,
    }
    assert site.rows()[: len(before)] == before
    assert (site.total(), site.total("south")) == (4, 1)
    assert not look(read_plan(site.plan), now=now()).running


def test_a_watched_folder_of_json_lines(site: Site) -> None:
    site.write("in/*.jsonl")
    (site.folder / "in").mkdir()
    site.follow()
    site.wait_steps(1)  # with no file there yet
    event = json.dumps({"region": "north", "at": row().partition(",")[0]})
    for name in ("a", "b"):
        site.append(f"{event}\n{{{CANARY}\n", file=site.folder / "in" / f"{name}.jsonl")
    site.wait(lambda: site.total() == 2)
    code, _, err = site.stop()
    assert code == 0
    assert CANARY not in err


def test_it_ends_at_the_horizon_by_itself(site: Site, ameles: Program) -> None:
    heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    site.write(more="horizon = 3")
    site.append("at,region\n")
    ended = ameles("run", str(site.plan), "--follow")
    assert ended.code == 0
    assert "the stream is at step 3 of 3.\nThat is its last step.\n" in ended.err
    assert len(site.totals()) == 3
    assert {number: signal.getsignal(number) for number in heard} == heard


def test_standard_input_stalls_and_nothing_read_is_lost_by_a_stop(
    site: Site, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.write("-", timed=False)
    site.follow()
    site.wait_steps(3)  # nothing was said
    site.say("at,region\n", *[row()] * 300, row(CANARY))
    code, out, err = site.stop()
    assert (code, out) == (0, "")
    assert "Following standard input from step 1 on" in err
    assert CANARY not in err
    finish(site, ameles, monkeypatch)
    assert site.total() == 300


def finish(site: Site, ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases the step that was open when the follower was stopped; nothing more comes in."""
    time.sleep(1)
    with (site.folder / "nothing").open("wb+") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        assert ameles("run", str(site.plan)).code == 0


def test_a_file_that_is_no_longer_itself_is_refused(site: Site, other: Site) -> None:
    for one in (site, other):
        one.write()
        one.append("at,region\n", row(), row(CANARY))
        one.follow()
    for one in (site, other):
        one.wait(lambda: (site.total(), other.total()) == (1, 1))
    site.file.write_text(f"at,region\n{row(CANARY) * 3}", encoding="utf-8")  # replaced
    other.file.write_text(f"at,region\n{CANARY}", encoding="utf-8")  # shrunk
    for one in (site, other):
        code, out, err = one.ended()
        assert (code, out) == (4, "")
        refusal = err[err.index("error") :]
        assert refusal.startswith(
            "error[store]: The file 'events.csv' was replaced or cut since it was last read.\n"
        )
        assert "\n  try: put the file back as it was and only append to it" in refusal
        assert CANARY not in err


def test_a_second_signal_ends_it_at_once(site: Site) -> None:
    site.write()
    site.append("at,region\n", row())
    for _ in range(20):
        code, released = interrupted_twice(site)
        if code:
            break
        # On a busy machine it had not come to its transaction, and the first signal was enough.
    # The kernel may deliver two that wait in either order; tests/cli/test_stopping.py has an order.
    assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    left = look(read_plan(site.plan), now=now())
    assert not left.running
    assert (len(site.totals()), left.released) == (released, released)


def interrupted_twice(site: Site) -> tuple[int, int]:
    """A follower gets two signals while the store is locked; how it ends, and its steps by then."""
    site.follow()
    site.wait(lambda: site.total() == 1)
    with bare_store(site.folder / "s.db") as other:
        lock_store(other)  # nothing is committed from now on
        (released,) = other.execute("SELECT released FROM stream").fetchone()
        site.wait(lambda: len(site.totals()) == released)  # its sink needs no transaction
        time.sleep(1.1)  # a step has ended
        site.send(signal.SIGINT)
        time.sleep(0.3)
        code, _, _ = site.stop(signal.SIGTERM)
    return code, released


def test_a_state_that_may_be_seized(
    site: Site,
    ameles: Program,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = tmp_path_factory.mktemp("keys")
    site.write(
        "-",
        timed=False,
        more="horizon = 1000",
        privacy='intrusions = "announced"',
        vault=f'vault = "{keys}"',
    )
    site.follow()
    site.say("at,region\n", row(), row())
    site.wait(lambda: site.total() == 2)
    running = ameles("intrusion", "announce", str(site.plan), "--why", "a broken window")
    assert running.code == 4
    assert running.err.startswith("error[store]: The stream 's' is run by another process (")
    assert "would overwrite the new state with it" in running.err
    assert "try: stop it with SIGTERM, announce, and start it again" in running.err
    shown = ameles("status", str(site.plan))
    assert "stream      s, running\n" in shown.out
    assert "\nvault       " in shown.out
    assert "\nintrusions  none announced\n" in shown.out
    site.say(row())
    assert site.stop()[0] == 0

    announced = ameles("intrusion", "announce", str(site.plan), "--why", "a broken window")
    assert announced.code == 0
    finish(site, ameles, monkeypatch)
    assert site.total() == 3


def test_what_is_asked_twice_is_refused_before_anything(site: Site, ameles: Program) -> None:
    site.write()
    ended = ameles("run", str(site.plan), "--follow", "--until", "2026-01-01")
    assert ended.code == 2
    assert "--until cannot be given with it" in ended.err
    assert not (site.folder / "s.db").exists()
