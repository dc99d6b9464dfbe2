"""Users and their bounds: what is said to be kept is what a run keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ameles.engine.owner_check import look as looking
from ameles.engine.owner_check import user_bounds
from tests.engine.owner_check.looks import PLAIN, busy, checked
from tests.engine.worlds import USER, WINDOW, World, row


def test_users_and_what_bounds_leave_of_them(tmp_path: Path) -> None:
    users = checked(World(tmp_path, unit=USER).write(busy()).plan).users
    assert users is not None
    assert (users.without, users.users, users.events) == (1, 2, 11)
    assert (users.most_in_a_step, users.most_steps) == (5, 6)
    assert (users.kept, users.bounded) == (2 + 1 + 1 + 1, 1)
    table = {(one.max_per_step, one.max_steps): one.kept for one in users.choices}
    assert table[1, 1] == 2
    assert table[2, 3] == users.kept
    assert table[5, 5] == 10
    assert {a for a, _ in table} == {1, 2, 3, 5}
    assert {b for _, b in table} == {1, 2, 3, 5}, "at most the horizon"


@pytest.mark.parametrize(("without", "mended"), [(2, False), (3, True)])
def test_a_few_events_without_an_id_are_no_fault_of_the_plan(
    tmp_path: Path, without: int, mended: bool
) -> None:
    rows = [row(1)] * (200 - without) + [row(1, who="")] * without
    facts = checked(World(tmp_path, unit=USER).write(rows).plan)
    (finding,) = [one for one in facts.findings if "no id in" in one.what]
    assert finding.mend.startswith("user = ") is mended  # from a hundredth of the events on


def test_the_noise_beside_bounds_is_that_of_a_plan_with_them(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write(busy())
    users = checked(world.plan).users
    assert users is not None
    (choice,) = [one for one in users.choices if (one.max_per_step, one.max_steps) == (5, 2)]
    world.text = world.text.replace(USER, USER.replace("= 2", "= 5").replace("= 3", "= 2"))
    plan = world.plan
    release = plan.releases[0]
    recipe, terms = plan.recipes[release.name], plan.terms(release)
    assert choice.half_widths == {
        "visits": float(release.half_widths(recipe, terms, np.array([8]))[0])
    }


@pytest.mark.parametrize("unit", [USER, WINDOW])
@pytest.mark.parametrize(("per_step", "max_steps"), [(1, 1), (1, 3), (2, 2), (3, 4)])
def test_what_is_said_to_be_kept_is_what_a_run_keeps(
    tmp_path: Path, unit: str, per_step: int, max_steps: int
) -> None:
    bounds = f"max_per_step = {per_step}\nmax_steps = {max_steps}"
    given = "max_per_step = 2\nmax_steps = " + ("2" if unit == WINDOW else "3")
    world = World(tmp_path, PLAIN, unit=unit.replace(given, bounds))
    people = [(step * 7 + n) % 5 for step in range(1, 9) for n in range(step)]
    rows = [row(1 + n % 8, who=f"u{who}", hour=n % 24) for n, who in enumerate(people)]
    world.write([*rows, *busy(), row(0), row(9), row(2, who=""), "broken"])
    users = checked(world.plan).users
    world.run(8)
    assert users is not None
    assert users.kept == world.values(key="")[-1]
    assert 0 < users.kept < users.events


@pytest.mark.parametrize("unit", [USER, WINDOW])
def test_shares_of_users_and_of_the_source_change_nothing(
    tmp_path: Path, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(1 + n % 8, who=f"u{n % 13}", hour=n % 24) for n in range(400)]
    plan = World(tmp_path, unit=unit).write([*rows, *busy()]).plan
    whole = checked(plan)
    monkeypatch.setattr(user_bounds, "_ROWS", 7)
    monkeypatch.setattr(looking, "_BYTES_A_PASS", 5000)
    assert checked(plan) == whole


def test_users_whose_state_may_be_seized_have_no_bounds(tmp_path: Path) -> None:
    seized = 'unit = "user"\nuser = "who"\nintrusions = "one"'
    distinct = '[[release]]\nname = "people"\nmeasure = "distinct"\ntable = 100\n'
    world = World(tmp_path, distinct, unit=seized)
    world.text = world.text.replace('"events.csv"', '"-"').replace('time = "at"\n', "")
    users = checked(world.plan, sample=world.write(busy()).file).users
    assert users is not None
    assert (users.users, users.events, users.choices) == (2, 11, [])
