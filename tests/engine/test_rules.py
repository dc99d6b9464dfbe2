"""A stream reads its source by the rules that it was launched with, whatever newer ones say."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ameles.core.rules import CURRENT, FIRST
from tests.engine.worlds import World, day, row

FIXTURES = Path(__file__).parent / "fixtures"
USERS = 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2'
COUNT = '[[release]]\nname = "visits"\nmeasure = "count"\n'
PEOPLE = '[[release]]\nname = "people"\nmeasure = "distinct"\n'
# One user, and what is none, under the rules of today; five and more under the first.
WHO = (b"7", b"7.0", b'"7"', b"true", b'""', b'"z\xff"', b"9007199254740993.0")
WEIGHTS = (5, 2**40, 2**40 + 1, 2**63)


def launched_before(world: World, fixture: str) -> World:
    """The store as the first rules left it, after its file was read once.

    A fixture cannot know which device and inode the file will have, so these are put in.
    """
    connection = sqlite3.connect(world.folder / "s.db")
    (world.folder / "s.db").chmod(0o600)
    connection.executescript((FIXTURES / f"{fixture}.sql").read_text(encoding="utf-8"))
    (stored,) = connection.execute("SELECT position FROM position").fetchone()
    position, status = json.loads(stored), world.file.stat()
    (mark,) = position["files"]
    assert mark["offset"] == status.st_size  # it is the file that was read
    mark |= {"device": status.st_dev, "inode": status.st_ino}
    connection.execute("UPDATE position SET position = ?", (json.dumps(position),))
    connection.commit()
    connection.close()
    return world


def users(folder: Path) -> World:
    world = World(folder, COUNT + PEOPLE, unit=USERS)
    start, end = world.text.index("columns ="), world.text.index("\nstart")
    columns = 'columns = { at = "timestamp", who = "text" }'
    world.text = f"{world.text[:start]}{columns}{world.text[end:]}".replace(".csv", ".jsonl")
    world.file = folder / "events.jsonl"
    world.file.write_bytes(visits(1))
    return world


def visits(number: int) -> bytes:
    at = f"{day(number):%Y-%m-%dT%H:%M:%SZ}".encode()
    return b"".join(b'{"at":"%s","who":%s}\n' % (at, who) for who in WHO)


def rules_of(world: World) -> int:
    connection = sqlite3.connect(world.folder / "s.db")
    (rules,) = connection.execute("SELECT rules FROM stream").fetchone()
    connection.close()
    return int(rules)


@pytest.mark.parametrize(
    ("rules", "events", "people"),
    [
        # six users with 7 events a day, on two days each
        (FIRST, [7, 7, 14, 14, 14], [6, 6, 6, 6, 6]),
        # one user with 2 events a day
        (CURRENT, [2, 2, 4, 4, 4], [1, 1, 1, 1, 1]),
    ],
)
def test_users_stay_who_they_were(
    tmp_path: Path, rules: int, events: list[int], people: list[int]
) -> None:
    world = users(tmp_path)
    if rules == FIRST:
        launched_before(world, "rules_1_users")
    world.run(2)
    for number in (3, 5):
        with world.file.open("ab") as file:
            file.write(visits(number))
        world.run(number)
    assert rules_of(world) == rules
    assert world.values("visits", "") == events
    assert world.values("people", "") == people


@pytest.mark.parametrize(("rules", "each"), [(FIRST, 5 + 2**40), (CURRENT, 5 + 3 * 2**40)])
@pytest.mark.parametrize("others", [0, 20_000])  # few are added up one by one, many in a query
def test_weights_beyond_the_bound_stay_out_or_are_clamped(
    tmp_path: Path, rules: int, each: int, others: int
) -> None:
    world = World(tmp_path, COUNT, stream='weight = "age"')
    world.write([weighed(1, n) for n in WEIGHTS])
    if rules == FIRST:
        launched_before(world, "rules_1_weights")
    world.run(2)
    world.append([weighed(3, n) for n in WEIGHTS] + [row(3, age="")] * others)
    world.run(3)
    assert rules_of(world) == rules
    assert world.values("visits", "") == [each, each, 2 * each]


def weighed(number: int, weight: int) -> str:
    return f"{day(number):%Y-%m-%dT%H:%M:%SZ},ada,north,{weight},1,true"
