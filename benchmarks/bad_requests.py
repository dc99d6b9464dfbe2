"""Bad requests: 100,000 to a service in this process; no server error, no change, no leak.

Each is made from the OpenAPI document of the service (tests/service/bad_requests.py): wrong types,
huge numbers, bad dates, invalid text, unknown parameters, methods, bodies, and tokens of all kinds.
The exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.service.bad_requests import BadRequests
from tests.service.small_service import reading_door, three_streams

EVERY = 15.0  # seconds between two lines about progress


def main() -> int:
    """Sends them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong: list[str] = []
    methods: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, three_streams(Path(name)) as service:
        service.doors.doors = {"open": reading_door(Path(name)), "closed": reading_door(Path(name))}
        stores = [Path(name, "both.db"), Path(name, "apart.db")]
        requests = BadRequests(service, stores, seed=asked.seed)
        begun = told = time.monotonic()
        for done in range(1, asked.requests + 1):
            request = requests.one()
            methods[request.method] += 1
            wrong += requests.send(request)
            if time.monotonic() > told + EVERY:
                told = time.monotonic()
                print(f"  {done:,} of {asked.requests:,}, {len(wrong)} wrong", flush=True)
        wrong += [f"{Path(store).name} has changed" for store in requests.changes()]
        seconds = time.monotonic() - begun
    print(f"{asked.requests:,} requests in {seconds:,.0f} s, {dict(methods)}")
    for one in wrong[:20]:
        print(f"  {one}")
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
