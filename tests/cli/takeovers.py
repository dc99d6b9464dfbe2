"""Takes a stream away from the process that runs it, again and again, while another stands by.

    python -m tests.cli.takeovers --times 100

The process with the stream is killed, or the server ends its connection, at a moment drawn at
random, while events are appended.  At the end, every step must be published once, what was
published must have stayed as it was, and every event must be counted once.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.cli.followed_site import Site, a_site, row
from tests.faults.choices import Choices
from tests.postgres import Server, serving
from tests.store.places import PostgresPlace

END_LOCKS = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"


def prepare(site: Site, place: PostgresPlace) -> None:
    """Writes a plan whose store is in Postgres, and an empty source."""
    site.write()
    text = site.plan.read_text(encoding="utf-8").replace('"s.db"', f'"{place.url}"')
    site.plan.write_text(text, encoding="utf-8")
    site.append("at,region\n")


def play(server: Server, folder: Path, times: int, seed: int) -> tuple[int, int]:
    """How many steps and events there were in the end."""
    chance = Choices("takeovers", seed)
    events = 0
    with ExitStack() as stack:
        sites = [stack.enter_context(a_site(folder)) for _ in range(2)]
        prepare(sites[0], PostgresPlace(server))
        for site in sites:
            site.follow("--standby")
        sites[0].wait(lambda: bool(sites[0].rows()))
        for _ in range(times):
            before = sites[0].rows()
            for _ in range(chance.below(5)):
                sites[0].append(row())
                events += 1
            chance.sleep(4)
            if chance.chance(70):
                killed = chance.one_of(sites)
                killed.send(signal.SIGKILL)
                killed.ended()
                killed.follow("--standby")
            else:
                with server.admin() as admin:
                    admin.execute(END_LOCKS)
            after = sites[0].rows()
            assert after[: len(before)] == before, "a published row has changed"
        sites[0].wait(lambda: sites[0].total() == events)
        sites[0].wait_steps(2)  # also checks that every step is there once, in order
        assert sites[0].total() == events, "an event was counted twice"
        return len(sites[0].totals()), events


def main() -> None:
    """Plays, and says how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        steps, events = play(server, Path(folder), given.times, given.seed)
    sys.stdout.write(
        f"{given.times} times: {steps} steps published once, {events} events counted once\n"
    )


if __name__ == "__main__":
    main()
