"""Tags that nobody listed beforehand: they are published once enough people use them.

Twelve thousand people write messages over thirty days.  Most use tags that many use; a new one
becomes popular in the middle of the month; some people have tags of their own, which would tell
who they are.  Every day the program publishes the tags that it has found, and how many people have
used each so far.

    python discovered_tags.py                        publishes with the library
    python discovered_tags.py --write messages.csv   writes the messages, for a plan to publish
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from ameles import USER, Approx, Ledger, Neighbours
from ameles.mechanisms.discovery import KeyDiscovery, UserBook
from ameles.noise import System
from ameles.noise.arrays import IntArray

START = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = 30
PEOPLE = 12_000
DAILY = 2_000  # messages
TAGS = ["#weather", "#football", "#traffic", "#concert", "#bakery", "#lostcat"]
POPULAR = [40, 25, 15, 10, 6, 3]  # of a hundred messages; the last one is somebody's own tag
STORM = (12, 30)  # from day 12 on, thirty of a hundred messages are about it


def messages(day: int) -> tuple[list[str], list[str]]:
    """Who wrote on this day, and with which tag."""
    noise = System()
    people = noise.uniform(PEOPLE, DAILY)
    dice: IntArray = noise.uniform(100, DAILY)
    storm = (noise.uniform(100, DAILY) < STORM[1]) & (day >= STORM[0])
    tag = np.searchsorted(np.cumsum(POPULAR), dice, side="right")
    tags = [
        "#storm" if new else TAGS[which] if which < len(TAGS) else f"#wedding-of-{person}"
        for new, which, person in zip(storm, tag.tolist(), people.tolist(), strict=True)
    ]
    return [f"user {person}" for person in people.tolist()], tags


def write(file: Path) -> None:
    """Writes all messages, spread evenly over their days."""
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["time", "user", "tag"])
        for day in range(1, DAYS + 1):
            for place, (user, tag) in enumerate(zip(*messages(day), strict=True)):
                time = START + timedelta(days=day - 1, seconds=place * 86_400 // DAILY)
                rows.writerow([time.isoformat(), user, tag])


def publish() -> None:
    """Buys a run, publishes every day, and shows the last one beside the truth."""
    recipe = KeyDiscovery(epsilon=2, delta="1e-8", horizon=DAYS, records=8)
    cap = Approx(2, "1e-8")
    ledger = Ledger("writers", cap=cap, unit=USER, neighbours=Neighbours.USER_PRESENCE)
    run = ledger.start(recipe, on="messages", why="the public list of tags")
    book = UserBook(recipe)

    print("Tags of a month, published every day\n")
    print(f"  promise:  {recipe.guarantee}")
    needed = [recipe.users_needed(day) for day in (1, DAYS // 2, DAYS)]
    print(
        f"  a tag is found on day 1 if {needed[0]} people use it, on day {DAYS // 2} if {needed[1]}"
    )
    print(f"  have used it, and on the last day if {needed[2]} have: with a chance of a half\n")

    truth: defaultdict[str, set[str]] = defaultdict(set)
    for day in range(1, DAYS + 1):
        users, tags = messages(day)
        for user, tag in zip(users, tags, strict=True):
            truth[tag].add(user)
        published = run.step(book.bounded(run, users, tags))
        for tag in run.names(published.discovered):
            print(f"  day {day:2}: {tag} is new")

    print("\n  on the last day       found  people   released    ±95%")
    names, since = run.names(published.public), published.since.tolist()
    values = published.values[:, 0].tolist()
    for tag, found, value in sorted(
        zip(names, since, values, strict=True), key=lambda row: -row[2]
    ):
        margin = recipe.value_error(found).bound(DAYS, 0.05)
        print(f"  {tag:<18} day {found:2} {len(truth[tag]):7} {value:10} {margin:7.0f}")
    own = sum(tag.startswith("#wedding") for tag in truth)
    shown = sum(tag.startswith("#wedding") for tag in names)
    print(f"\n  {own} tags were somebody's own; {shown} of them were published.")


def main() -> None:
    """Publishes, or writes a file."""
    parser = argparse.ArgumentParser(description="Tags that nobody listed beforehand.")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the messages instead")
    options = parser.parse_args()
    if options.write is None:
        publish()
    else:
        write(options.write)


if __name__ == "__main__":
    main()
