"""The plans that are measured, and the events that are posted to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from service_load.senders import Body

EVENTS = 100  # of a batch
REGIONS = ("north", "south", "east", "west")
_PLAN = """
[stream]
name = "bench"
source = "{source}"
{time}columns = {{ {at}region = "text", age = "integer", fever = "boolean" }}
start = "{start}"
every = "{every}"
horizon = 1000000
[privacy]
population = "people"
unit = "event"
epsilon = {epsilon}
{privacy}
{releases}
[store]
url = "{url}"
{vault}
[serve]
public = true
"""
_COUNT = """
[[release]]
name = "{name}"
measure = "count"
by = {{ region = [{keys}] }}
"""


def posted_plan(
    every: str, *, url: str = "bench.db", vault: str = "", source: str = "http", noise: bool = False
) -> str:
    """A plan whose events are posted, from now on; with a vault its state may be seized.

    Epsilon is so large that there is no noise: totals can be compared with what was posted.
    """
    return _PLAN.format(
        source=source,
        start=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        time="",
        at="",
        every=every,
        epsilon=1 if noise else 1000,
        privacy='intrusions = "one"' if vault else "",
        releases=_COUNT.format(name="visits", keys=", ".join(f'"{one}"' for one in REGIONS)),
        url=url,
        vault=f'vault = "{vault}"' if vault else "",
    )


def published_plan(steps: int, *, releases: int, keys: int) -> str:
    """A plan over an empty file that has published so many steps when it is followed."""
    named = ", ".join(f'"k{number}"' for number in range(keys))
    start = datetime.now(UTC) - timedelta(days=steps)
    return _PLAN.format(
        source="events.csv",
        start=f"{start:%Y-%m-%d}",
        time='time = "at"\n',
        at='at = "timestamp", ',
        every="1d",
        epsilon=1000,
        privacy="",
        releases="".join(_COUNT.format(name=f"r{n}", keys=named) for n in range(releases)),
        url="bench.db",
        vault="",
    )


def bodies(folder: Path) -> dict[str, Body]:
    """One batch of events, written in each way."""
    events = [
        {"region": REGIONS[n % 4], "age": 20 + n % 60, "fever": n % 3 == 0} for n in range(EVENTS)
    ]
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    rows = [f"{one['region']},{one['age']},{str(one['fever']).lower()}" for one in events]
    contents = {
        "JSON Lines": ("application/x-ndjson", "".join(f"{line}\n" for line in lines)),
        "JSON": ("application/json", f"[{','.join(lines)}]"),
        "CSV": ("text/csv", "region,age,fever\n" + "".join(f"{row}\n" for row in rows)),
    }
    made = {}
    for number, (name, (kind, content)) in enumerate(contents.items()):
        file = folder / f"body{number}"
        file.write_text(content, encoding="utf-8")
        made[name] = Body(kind, file)
    return made
