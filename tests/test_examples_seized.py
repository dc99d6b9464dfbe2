"""The examples about users whose state may be seized run to their releases, with real noise."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.plan.plan import Plan, read_plan
from ameles.store import open_store

EXAMPLES = Path(__file__).parents[1] / "examples"
# How often each of some cards is used, in the first window and in the second.
CARDS = {f"card-{number}": (number % 4, number % 3) for number in range(3000)}


def example(name: str, folder: Path) -> Plan:
    """The plan, with a store and a key of the test's own."""
    plan = read_plan(EXAMPLES / f"{name}.toml")
    store = plan.store.model_copy(update={"vault": str(folder / "keys")})
    (folder / "store").mkdir()
    return replace(plan, base=folder / "store", file=None, store=store, sinks=())


def published(plan: Plan, windows: int) -> list[Release]:
    """What is published over some windows, into each of whose first step all cards come."""
    with closing(open_store(str(plan.base / "s.db"))) as store:
        source = StandardInput("jsonl", plan.kinds)
        with Engine(plan, store).session() as session:
            for part in range(windows):
                lines = [
                    json.dumps({plan.privacy.user: card})
                    for card, often in CARDS.items()
                    for _ in range(often[part])
                ]
                session.take(source.reading(["".join(f"{x}\n" for x in lines).encode()]), 0)
                last = session.stream.released + (plan.unit.window or 1)
                session.take(source.reading([]), last)
        with store.reading() as transaction:
            return list(transaction.releases(session.stream))


def truths(plan: Plan, part: int) -> dict[tuple[str, str], float]:
    """The true number behind each release and key at the end of a window."""
    often = Counter(times[part] for times in CARDS.values())
    found: dict[tuple[str, str], float] = {}
    for release in plan.releases:
        given: Any = release
        match release.measure:
            case "modular":
                odd = sum(cards for n, cards in often.items() if n % 2) / given.users
                found[release.name, "0"], found[release.name, "1"] = 1 - odd, odd
                continue
            case "cropped_mean":
                count = sum(min(n, given.crop) * cards for n, cards in often.items())
            case "heavy":
                count = sum(cards for n, cards in often.items() if n >= given.at_least)
            case "incidence":
                count = often[given.exactly]
            case _:
                count = len(CARDS) - often[0]
        found[release.name, ""] = count / getattr(given, "users", 1)
    return found


# The tables of the card have 25 megabytes: one window of them is enough.
@pytest.mark.parametrize(("name", "windows"), [("returns", 2), ("guests", 2), ("card", 1)])
def test_it_publishes_what_people_did(tmp_path: Path, name: str, windows: int) -> None:
    plan = example(name, tmp_path)
    window = plan.unit.window or 1
    rows = {(one.release, one.key, one.step): one for one in published(plan, windows)}
    for part in range(windows):
        for (release, key), truth in truths(plan, part).items():
            row = rows[release, key, (part + 1) * window]
            assert row.value is not None
            assert row.low is not None
            assert row.high is not None
            # Three times as wide as an interval of 95%, whose tails fall like those of a Gaussian
            # law: exp(-9 ln 40) is below 1e-14.
            assert row.value - 3 * (row.value - row.low) <= truth
            assert truth <= row.value + 3 * (row.high - row.value)
    if name == "returns":
        assert window == 4
        assert {(step, row.label, row.value is None) for (_, _, step), row in rows.items()} == {
            (step, "" if step % 4 == 0 else "waiting", step % 4 != 0) for step in range(1, 9)
        }
