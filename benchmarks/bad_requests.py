"""Bad requests: 100,000 to a service in this process; no server error, no change, no leak.

Schemathesis makes them from the OpenAPI document of the service, as described and broken; some get
sharper values, other methods, bodies and tokens of all kinds (tests/service/openapi_cases.py).  The
exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.service.bad_requests import BadRequests
from tests.service.small_service import reading_door, three_streams

AT_ONCE = 1_000  # requests of one search: it remembers them all
EVERY = 15.0  # seconds between two lines about progress


def main() -> int:
    """Sends them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name, three_streams(Path(name)) as service:
        service.doors.doors = {"open": reading_door(Path(name)), "closed": reading_door(Path(name))}
        stores = [Path(name, "both.db"), Path(name, "apart.db")]
        requests = BadRequests(service, stores)
        begun = told = time.monotonic()
        while (done := requests.methods.total()) < asked.requests:
            some = min(AT_ONCE, asked.requests - done)
            wrong += requests.send(some, seeded=asked.seed + done)
            if time.monotonic() > told + EVERY:
                told = time.monotonic()
                print(f"  {done + some:,} of {asked.requests:,}, {len(wrong)} wrong", flush=True)
        wrong += [f"{Path(store).name} has changed" for store in requests.changes()]
        seconds = time.monotonic() - begun
    print(f"{done:,} requests in {seconds:,.0f} s, {dict(requests.methods)}")
    for one in wrong[:20]:
        print(f"  {one}")
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
