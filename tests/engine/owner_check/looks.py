"""The owner's look at a plan's source, and what it says."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from ameles.engine.owner_check.check import check
from ameles.engine.owner_check.facts import Facts
from ameles.plan.plan import Plan
from ameles.store import open_store
from tests.engine.worlds import World, row

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PLAIN = '[[release]]\nname = "visits"\nmeasure = "count"\n'


def checked(plan: Plan, **options: Any) -> Facts:
    with closing(open_store(str(plan.base / "s.db"))) as store:
        return check(plan, store, now=options.pop("now", NOW), **options)


def told(facts: Facts) -> list[str]:
    return [f"{finding.what} {finding.mend}" for finding in facts.findings]


def column(facts: Facts, name: str) -> tuple[int, int, int]:
    (facts_of_it,) = [one for one in facts.columns if one.name == name]
    return facts_of_it.read, facts_of_it.missing, facts_of_it.unfit


def mended(world: World, line: str) -> Facts:
    world.text = world.text.replace("[privacy]", f"{line}\n[privacy]", 1)
    return checked(world.plan)


def busy() -> list[str]:
    """ada: 5 events in step 1, 1 in steps 2 to 6; bob: 1; one without an id."""
    many = [row(1, hour=hour) for hour in range(5)] + [row(step) for step in range(2, 7)]
    return [*many, row(4, who="bob"), row(4, who="")]
