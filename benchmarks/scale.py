"""How cost grows with events, users, keys and steps, and what that means for larger streams.

Every load runs in a process of its own.  Rates are the slope between the two largest loads of a
row, in seconds of one core; a simulation carries them to streams that do not fit here.
docs/scale.md has the tables, with what they assume.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import asdict
from pathlib import Path

from scaling.runs import Cost, Load, measure
from scaling.simulation import Deployment, Rates, needed

WORLD = (
    Deployment("a town, hourly", 10, 1e5, 100, 3600),
    Deployment("a country, each quarter of an hour", 1e4, 1e7, 10_000, 900),
    Deployment("a large site, each minute, without users", 1e5, 0, 1_000, 60),
    Deployment("the world, hourly", 1e6, 1e9, 1_000_000, 3600),
)
SIZES = {
    "events": "events",
    "events as JSON Lines": "events",
    "events of users": "events",
    "users seen before": "seen",
    "keys": "keys",
    "steps": "steps",
}
Measured = list[tuple[Load, Cost]]


def rows(most: int) -> dict[str, list[Load]]:
    """The loads, up to so many events."""
    counts = [10**power for power in range(5, 9) if 10**power <= most]
    return {
        "events": [Load(events=count) for count in counts],
        "events as JSON Lines": [Load(events=count, kind="jsonl") for count in counts],
        "events of users": [Load(events=count, users=count // 10) for count in counts],
        "users seen before": [
            Load(events=100_000, users=100_000, seen=count) for count in counts if count <= 10**7
        ],
        "keys": [Load(events=100_000, keys=10**power, steps=10) for power in (3, 4, 5)],
        "steps": [Load(events=100_000, steps=10**power) for power in (3, 4, 5)],
    }


def slope(row: Measured, size: str, worth: str = "processor") -> float:
    """What one more of ``size`` adds, between the two largest loads."""
    (before, less), (after, more) = row[-2:]
    further = float(getattr(after, size) - getattr(before, size))
    return float(getattr(more, worth) - getattr(less, worth)) / further


def exponent(row: Measured, size: str) -> float:
    """How processor time grows: 1 is in proportion."""
    (before, less), (after, more) = row[-2:]
    return math.log(more.processor / less.processor) / math.log(
        getattr(after, size) / getattr(before, size)
    )


def rates(measured: dict[str, Measured]) -> Rates:
    """The rates of this machine."""
    mebibyte, key_steps = 2**20, measured["keys"][-1][0].steps
    event, text = (slope(measured[row], "events") for row in ("events", "events as JSON Lines"))
    return Rates(
        event=text,  # what brokers hold is text
        bounded_event=slope(measured["events of users"], "events") + text - event,
        release=slope(measured["keys"], "keys") / key_steps,
        step=slope(measured["steps"], "steps"),
        user_bytes=slope(measured["users seen before"], "seen", "store") * mebibyte,
        release_bytes=slope(measured["keys"], "keys", "store") * mebibyte / key_steps,
    )


def measure_all(most: int, wanted: list[str]) -> dict[str, Measured]:
    """Measures every row that is wanted, and prints it as it comes."""
    print("| load | processor s | wall s | peak MiB | store MiB |\n|---|---|---|---|---|")
    measured: dict[str, Measured] = {}
    for name in wanted:
        loads, measured[name] = rows(most)[name], []
        for load in loads:
            cost = measure(load)
            measured[name].append((load, cost))
            print(
                f"| {load.text} | {cost.processor:.2f} | {cost.seconds:.2f} | {cost.memory:.0f} "
                f"| {cost.store:.1f} |",
                flush=True,
            )
    return measured


def tell(measured: dict[str, Measured]) -> None:
    """Prints how costs grow, and what follows for the streams of the world."""
    print()
    for name, row in measured.items():
        print(f"{name}: processor time grows with the power {exponent(row, SIZES[name]):.2f}")
    found = rates(measured)
    print(
        f"an event as JSON {found.event * 1e6:.2f} us of a core, of a user "
        f"{found.bounded_event * 1e6:.2f} us, a release {found.release * 1e6:.2f} us and "
        f"{found.release_bytes:.0f} bytes, a step {found.step * 1e3:.2f} ms, a user seen "
        f"{found.user_bytes:.0f} bytes\n\n"
        "| stream | events/s | users | keys | cores | a step is released after | 1 in 100 after | "
        "outage made up after | store a month | users |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for stream in WORLD:
        outcome = needed(stream, found)
        size = f"| {stream.name} | {stream.events:,.0f} | {stream.users:,.0f} | {stream.keys:,} |"
        if outcome is None:
            print(f"{size} none are enough: one process cannot release so many numbers a step |")
            continue
        kept = stream.keys * stream.steps * found.release_bytes / 1e9
        print(
            f"{size} {outcome.cores} | {outcome.typical:,.1f} s | {outcome.late:,.1f} s | "
            f"{outcome.recovery:,.0f} s | {kept:.2f} GB | "
            f"{stream.users * found.user_bytes / 1e9:.2f} GB |"
        )


def keep(measured: dict[str, Measured], file: Path) -> None:
    """Writes what was measured, for ``kept``."""
    table = {
        name: [[asdict(load), asdict(cost)] for load, cost in row] for name, row in measured.items()
    }
    file.write_text(json.dumps(table, indent=1), encoding="utf-8")


def kept(file: Path) -> dict[str, Measured]:
    """What was measured before."""
    table = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: [(Load(**load), Cost(**cost)) for load, cost in row] for name, row in table.items()
    }


def main() -> None:
    """Measures, and simulates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10**7, help="events of the largest load")
    parser.add_argument("--rows", nargs="*", default=[*SIZES], choices=SIZES, help="all by default")
    parser.add_argument("--keep", type=Path, help="a file to which all that was measured is added")
    parser.add_argument("--kept", type=Path, help="such a file: simulate, and measure nothing")
    given = parser.parse_args()
    if given.kept:
        tell(kept(given.kept))
        return
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    measured = measure_all(given.most, given.rows)
    if given.keep:
        before = kept(given.keep) if given.keep.exists() else {}
        measured = {**before, **measured}
        keep(measured, given.keep)
    if measured.keys() == SIZES.keys():
        tell(measured)


if __name__ == "__main__":
    main()
