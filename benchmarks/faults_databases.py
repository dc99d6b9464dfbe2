"""Faults of Redis and Postgres as source and sink: kill -9 of Ameles and servers; 0 violations.

Each life is a plan from a stream to a stream, or from a table to a table; its program is started
again until all steps are released and published.  Then the counts in the store must be those of
what was written, and the sink must have each release once.  The exit code is 1 if anything was
violated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import postgres, redis_server
from tests.database_faults import (
    PostgresLife,
    RedisLife,
    crash_postgres,
    cut_redis,
    end_sessions,
    kill_redis,
)
from tests.faults.choices import Choices
from tests.source_faults import Faults, SourceLife, kill_ameles
from tests.tcp_proxy import Proxy

PARTS: dict[str, dict[str, Callable[..., bool]]] = {
    "redis": {
        "Redis: kill -9 of Ameles": kill_ameles,
        "Redis: connections cut": cut_redis,
        "Redis: kill -9 of the server": kill_redis,
    },
    "postgres": {
        "Postgres: kill -9 of Ameles": kill_ameles,
        "Postgres: sessions ended": end_sessions,
        "Postgres: crashes of the server": crash_postgres,
    },
}


@contextmanager
def lives_of(part: str, folder: Path) -> Iterator[Callable[[Path], SourceLife]]:
    """What begins a life on a server of this kind."""
    if part == "redis":
        (folder / "server").mkdir()
        with redis_server.serving(folder / "server") as server, Proxy() as proxy:
            yield lambda home: RedisLife(server, home, proxy)
    else:
        with postgres.serving() as database:
            yield lambda home: PostgresLife(database, home)


def lives(
    begin: Callable[[Path], SourceLife], fault: Any, args: argparse.Namespace, folder: Path
) -> Faults:
    """Lives until there were enough faults, or the time is over."""
    faults, since = Faults(), time.monotonic()
    for number in count():
        if faults.number >= args.faults or time.monotonic() - since > 60 * args.minutes:
            return faults
        life = begin(folder / f"{fault.__name__}-{number}")
        life.live(fault, Choices(args.seed, fault.__name__, number), faults)
        shutil.rmtree(life.folder)
    return faults


def main() -> int:
    """All parts, and what came of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[*PARTS], help=f"of {', '.join(PARTS)}")
    parser.add_argument("--faults", type=int, default=300, help="of each kind")
    parser.add_argument("--minutes", type=float, default=10.0, help="the most for each kind")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    wrong = 0
    for part in args.parts:
        with tempfile.TemporaryDirectory() as name, lives_of(part, Path(name)) as begin:
            for title, fault in PARTS[part].items():
                since = time.monotonic()
                faults = lives(begin, fault, args, Path(name))
                print(
                    f"{title:34} {faults.number:5}   violations {len(faults.wrong)}   "
                    f"{time.monotonic() - since:.0f} s",
                    *(f"  {one}" for one in faults.wrong),
                    sep="\n",
                    flush=True,
                )
                wrong += len(faults.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
