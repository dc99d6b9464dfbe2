"""The service: batches of 100 events over HTTP, live readers, pages, beside a bare uvicorn echo.

    ./run bench service                   everything, in less than six minutes
    ./run bench service ingest overload   some of: ingest overload live reading page
    ./run bench service --seconds 30      longer rounds

Batches are posted by wrk (Debian package wrk); each is acknowledged once it is stored, with a sync.
Some senders post as soon as they have an answer: that shows the highest rate, with delays that grow
with their number.  Many senders with pauses offer a rate and keep to it: that shows the delays.
Senders, service and database share the machine.  Processor time of the service for 1,000 requests
depends least on what else runs, and is told beside that of a bare echo of the same bodies.  The
plan has no noise, so that the last total can be compared with what was acknowledged.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import postgres

from ameles.engine.following.arrivals import now
from ameles.plan.plan import read_plan
from service_load.live_readers import listen
from service_load.page_reads import read
from service_load.plans import EVENTS, bodies, posted_plan, published_plan
from service_load.processes import Served, bare_server, service
from service_load.senders import Body, Sent, send

GOAL, GOAL_MS = 1500, 50
CONNECTIONS = 32
STEADY, STEADY_PAUSE = 620, 400  # senders, and milliseconds between two batches of one: the goal
TOGETHER = 128  # senders to a stream whose state may be seized, which seals many requests at once
CROWD, PAUSE = 3000, 667  # senders, and milliseconds between two batches of one: 4,500 a second
READERS, HEARD = 1000, 6
PAGE_STEPS, LINES = 1000, 100


def say(what: str, figure: str, more: str = "") -> None:
    """One line of the table."""
    print(f"{what:<34} {figure:<44} {more}".rstrip(), flush=True)


def told(name: str, sent: Sent, echo: Sent, goal: str = "", *, reached: bool = True) -> None:
    """How a load went, and what it cost beside the echo."""
    figure = f"{sent.rate:>6,.0f}/s  p50 {sent.p50:>5.1f}  p99 {sent.p99:>6.1f} ms"
    more = f"{sent.cost:.3f} CPU s for 1,000 = {sent.cost / echo.cost:.1f} x the echo"
    if goal:
        more += f"; goal {goal}: {'reached' if reached else 'NOT reached'}"
    say(name, figure, more)


def post(
    served: Served, body: Body, seconds: float, connections: int = CONNECTIONS, pause: int = 0
) -> Sent:
    """A load on a service, and the check that nothing that it acknowledged is lost."""
    before = total(served)
    path, token = f"{served.path}/events", served.tokens["ingest"]
    step = read_plan(served.log.parent / "plan.toml").clock.ended(now()) + 1
    sent = send(
        served.running,
        path,
        body,
        seconds=seconds,
        connections=connections,
        step=step,
        token=token,
        pause=pause,
    )
    counted = (total(served) - before) // EVENTS
    if not sent.counted <= counted <= sent.counted + connections:
        sys.exit(f"{sent.counted:,} batches were acknowledged, and {counted:,} count.")
    return sent


def total(served: Served) -> int:
    """All events that count, once everything that came by now is released."""
    wait_for_release(served, read_plan(served.log.parent / "plan.toml").clock.ended(now()) + 1)
    with served.store.reading() as transaction:
        stream = transaction.stream(served.name)
        last = [] if stream is None else transaction.releases(stream, first=stream.released)
        return sum(int(row.value or 0) for row in last)


def wait_for_release(served: Served, step: int) -> None:
    """Waits until a step is released."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with served.store.reading() as transaction:
            stream = transaction.stream(served.name)
        if stream is not None and stream.released >= step:
            return
        time.sleep(0.05)
    raise RuntimeError("no release came")


@contextmanager
def published(folder: Path, *, releases: int, keys: int) -> Iterator[Served]:
    """A service of a stream that has published its steps."""
    (folder / "events.csv").write_text("at,region,age,fever\n", encoding="utf-8")
    with service(folder, published_plan(PAGE_STEPS, releases=releases, keys=keys)) as served:
        wait_for_release(served, PAGE_STEPS)
        yield served


@contextmanager
def place(name: str) -> Iterator[Path]:
    """A folder on the disk."""
    with tempfile.TemporaryDirectory(prefix=f"ameles-{name}-") as folder:
        (Path(folder) / "plan").mkdir()
        yield Path(folder)


def ingest(seconds: float) -> None:
    """Ordinary streams in SQLite and Postgres, and one whose state may be seized."""
    with place("ingest") as folder, ExitStack() as stack:
        sent = bodies(folder)
        lines = sent["JSON Lines"]
        with bare_server() as bare:
            echo = send(bare, "/", lines, seconds=seconds / 2, connections=CONNECTIONS)
            slow = send(
                bare, "/", lines, seconds=seconds / 2, connections=STEADY, pause=STEADY_PAUSE
            )
        told(f"bare echo, {CONNECTIONS} senders", echo, echo)
        told(f"bare echo, {GOAL:,}/s offered", slow, slow)
        with service(folder / "plan", posted_plan("5s")) as served:
            post(served, lines, 3, STEADY, STEADY_PAUSE)  # the first step loads what is needed
            steady = post(served, lines, 2 * seconds, STEADY, STEADY_PAUSE)
            goal = f"p99 < {GOAL_MS} ms at {GOAL:,}/s"
            reached = steady.p99 < GOAL_MS and steady.rate >= 0.95 * GOAL
            told(f"SQLite, {GOAL:,}/s offered", steady, slow, goal, reached=reached)
            for name, body in sent.items():
                done = post(served, body, seconds)
                told(f"SQLite, {name}", done, echo, f"{GOAL:,}/s", reached=done.rate >= GOAL)
        if postgres.programs() is not None:
            vars(postgres)["in_memory"] = lambda: None  # on the disk
            server = stack.enter_context(postgres.serving())
            (folder / "postgres").mkdir()
            plan = posted_plan("5s", url=server.url())
            with service(folder / "postgres", plan) as served:
                told("Postgres, JSON Lines", post(served, lines, seconds), echo)
        (folder / "sealed").mkdir()
        plan = posted_plan("2s", vault=str(folder / "keys"))
        with service(folder / "sealed", plan) as served:
            told("pan-private, JSON Lines", post(served, lines, seconds, TOGETHER), echo)


def overload(seconds: float) -> None:
    """Many more senders than the service can take."""
    with place("overload") as folder, service(folder / "plan", posted_plan("5s")) as served:
        sent = post(served, bodies(folder)["JSON Lines"], 2 * seconds, CROWD, PAUSE)
    say(
        f"{CROWD:,} senders, up to {3 * GOAL:,}/s",
        f"{sent.rate:>6,.0f}/s counted, {sent.busy / sent.seconds:,.0f}/s get 429",
        f"{sent.failed} of 5xx, {sent.hasty} without Retry-After, {sent.unanswered} unanswered, "
        f"{sent.other} other; p99 {sent.p99:,.0f} ms",
    )
    part = len(sent.memory) // 4
    early, late = max(sent.memory[part : 2 * part]), max(sent.memory[-part:])
    figure = f"{early:,.0f} MiB after 1/4, {late:,.0f} MiB at the end"
    say("  memory of the service", figure, f"{late / early:.2f} x; goal at most 1.1")


def live(seconds: float) -> None:
    """Readers who wait for each step."""
    with place("live") as folder, service(folder / "plan", posted_plan("1s")) as served:
        server, memory = served.running, [served.running.resident()]
        worked, began = server.worked(), time.monotonic()
        heard = listen(
            server.port,
            f"{served.path}/live",
            readers=READERS,
            steps=HEARD,
            connected=lambda: memory.append(server.resident()),
        )
        took, worked = time.monotonic() - began, server.worked() - worked
    delays = sorted(delay for step in heard.whole() for delay in heard.steps[step])
    middle, most = delays[len(delays) // 2], delays[-1]
    say(
        f"{READERS:,} live readers, a step a second",
        f"{len(heard.whole())} steps came to all of them",
        f"median {middle * 1e3:,.0f} ms after the step's end, the last {most * 1e3:,.0f} ms; "
        f"{(memory[1] - memory[0]) * 1024 / READERS:.0f} KiB a reader, "
        f"{100 * worked / took:.0f}% of a core",
    )


def reading(seconds: float) -> None:
    """Pages of what was published, whole and unchanged."""
    with (
        place("reading") as folder,
        published(folder / "plan", releases=1, keys=LINES) as served,
    ):
        tokens = folder / "tokens"
        tokens.write_text("\n".join(served.token("read") for _ in range(40)), encoding="utf-8")
        path = f"{served.path}/releases"
        for name, query, known in (
            ("a page of 1,000 numbers", "?limit=1000", False),
            ("  unchanged, with its ETag", "?limit=1000", True),
            ("a page of 100,000 numbers", "?limit=100000&format=series", False),
        ):
            done = read(served.running, path + query, tokens, seconds / 2, known=known)
            figure = f"{done.rate:>6,.0f}/s  p50 {done.p50:>5.1f}  p99 {done.p99:>6.1f} ms"
            more = f"{done.cost:.3f} CPU s for 1,000; {done.other} refused"
            say(name, figure, more)


def page(seconds: float) -> None:
    """The page in a browser: 100 lines of 1,000 steps, as keys of one release and as releases, of
    which a plan has at most 64."""
    from tests.service.dashboard.browser.chromium import browsing

    from service_load.drawing import seconds_to_draw

    for releases, keys in ((1, LINES), (LINES // 2, 2)):
        with (
            place("page") as folder,
            browsing() as browser,
            published(folder / "plan", releases=releases, keys=keys) as served,
        ):
            served.running.settle()
            url = f"{served.running.url}/streams/{served.name}"
            first, *others = [seconds_to_draw(browser, url) for _ in range(5)]
        best = min(others, key=lambda drawn: drawn.in_view)
        say(
            f"page, {releases} x {keys} x {PAGE_STEPS:,} numbers",
            f"in view after {first.in_view:.2f} s, again {best.in_view:.2f} s",
            f"all steps {first.whole:.2f} s, again {best.whole:.2f} s; {first.charts} charts; "
            f"goal 1 s: {'reached' if first.in_view < 1 else 'NOT reached'}",
        )


PARTS: dict[str, Callable[[float], None]] = {
    "ingest": ingest,
    "overload": overload,
    "live": live,
    "reading": reading,
    "page": page,
}


def main() -> None:
    """All parts, or some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    say("machine", f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the beginning")
    for name in asked.parts or PARTS:
        PARTS[name](asked.seconds)
    say("machine", f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
