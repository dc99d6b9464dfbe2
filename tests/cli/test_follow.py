"""``ameles run --follow`` as an operator meets it: a process of its own, with steps of one second,
real signals and real files.  An epsilon of 1000 leaves numbers exact: one of them is off with a
probability below e**-100."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ameles.cli.status import look
from ameles.plan.plan import read_plan
from tests.cli.conftest import Ended, Program
from tests.cli.followed_site import Site, a_site, now, row
from tests.stand_in import bare_store, lock_store
from tests.warm_processes import run

CANARY = "cafebabe-canary"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with a_site(tmp_path) as site:
        yield site


def ameles(*arguments: str) -> Ended:
    """A command in a process of its own; nothing is on its standard input."""
    ended = run("-m", "ameles", *arguments)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


Scene = Callable[[Site, Path], None]
SCENES: dict[str, Scene] = {}


def scene(play: Scene) -> Scene:
    """What happens at a site, in a folder of its own, with another folder for what it needs.

    Followers wait for seconds to pass, so all scenes are played at the same time.
    """
    SCENES[play.__name__] = play
    return play


@pytest.fixture(scope="module")
def played(
    tmp_path_factory: pytest.TempPathFactory, kind_of_store: str
) -> Iterator[dict[str, Future[None]]]:
    """All scenes, which have begun."""

    def play(name: str, folder: Path, other: Path) -> None:
        with a_site(folder) as site:
            SCENES[name](site, other)

    with ThreadPoolExecutor(len(SCENES)) as threads:
        yield {
            name: threads.submit(
                play, name, tmp_path_factory.mktemp(name), tmp_path_factory.mktemp("other")
            )
            for name in SCENES
        }


@scene
def a_growing_file_is_followed_stopped_and_resumed(site: Site, _other: Path) -> None:
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


@scene
def a_watched_folder_of_json_lines(site: Site, _other: Path) -> None:
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


@scene
def standard_input_stalls_and_nothing_read_is_lost_by_a_stop(site: Site, _other: Path) -> None:
    site.write("-", timed=False)
    site.follow()
    site.wait_steps(3)  # nothing was said
    site.say("at,region\n", *[row()] * 300, row(CANARY))
    code, out, err = site.stop()
    assert (code, out) == (0, "")
    assert "Following standard input from step 1 on" in err
    assert CANARY not in err
    finish(site)
    assert site.total() == 300


def finish(site: Site) -> None:
    """Releases the step that was open when the follower was stopped; nothing more comes in."""
    time.sleep(1)
    assert ameles("run", str(site.plan)).code == 0


@scene
def a_file_that_was_replaced_is_refused(site: Site, _other: Path) -> None:
    refused_after(site, f"at,region\n{row(CANARY) * 3}")


@scene
def a_file_that_was_cut_is_refused(site: Site, _other: Path) -> None:
    refused_after(site, f"at,region\n{CANARY}")


def refused_after(site: Site, change: str) -> None:
    site.write()
    site.append("at,region\n", row(), row(CANARY))
    site.follow()
    site.wait(lambda: site.total() == 1)
    site.file.write_text(change, encoding="utf-8")
    code, out, err = site.ended()
    assert (code, out) == (4, "")
    refusal = err[err.index("error") :]
    assert refusal.startswith(
        "error[store]: The file 'events.csv' was replaced or cut since it was last read.\n"
    )
    assert "\n  try: put the file back as it was and only append to it" in refusal
    assert CANARY not in err


@scene
def a_second_signal_ends_it_at_once(site: Site, _other: Path) -> None:
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


@scene
def a_state_that_may_be_seized(site: Site, keys: Path) -> None:
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
    finish(site)
    assert site.total() == 3


@pytest.mark.usefixtures("played")
def test_it_ends_at_the_horizon_by_itself(site: Site, ameles: Program) -> None:
    """In this process, while the others are waited for: signals are heard as before."""
    heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    site.write(more="horizon = 3")
    site.append("at,region\n")
    ended = ameles("run", str(site.plan), "--follow")
    assert ended.code == 0
    assert "the stream is at step 3 of 3.\nThat is its last step.\n" in ended.err
    assert len(site.totals()) == 3
    assert {number: signal.getsignal(number) for number in heard} == heard


@pytest.mark.parametrize("name", SCENES)
def test_a_follower(played: dict[str, Future[None]], name: str) -> None:
    played[name].result()


def test_what_is_asked_twice_is_refused_before_anything(site: Site, ameles: Program) -> None:
    site.write()
    ended = ameles("run", str(site.plan), "--follow", "--until", "2026-01-01")
    assert ended.code == 2
    assert "--until cannot be given with it" in ended.err
    assert not (site.folder / "s.db").exists()
