"""What candidates clip: the same as counted in Python, and one unit changes it by a capped part."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.duck import OutOfMemory
from ameles.engine.private_bounds import clipped
from ameles.engine.private_bounds.candidates import CandidateBound
from ameles.engine.private_bounds.noise_cost import SCALE
from tests.engine.worlds import COUNT, EVENT, World, row

from .choices import (
    FEVERS,
    MEAN,
    NOW,
    SUM,
    USERS,
    WINDOWS,
    question,
    scores,
    without,
    world_of,
    worst_loss,
)

Event = tuple[int, str, Any, bool]  # day, user, amount, fever

EVENTS = st.lists(
    st.tuples(
        st.integers(1, 8),
        st.sampled_from(["ada", "bob", "eve", ""]),
        st.sampled_from([-900, -5, -2.5, -0.3, 0, 0.2, 1, 7, 19.9, 20, 1e300, "", "x", "nan"]),
        st.booleans(),
    ),
    max_size=40,
)


def rows_of(events: list[Event]) -> list[str]:
    return [row(at, who, amount=amount, fever=str(hot).lower()) for at, who, amount, hot in events]


def units_of(amount: Any) -> int | None:
    """The value in grid units of 0.5, cut at -5 and 20."""
    if amount in ("", "x", "nan"):
        return None
    halves = min(max(Fraction(amount), Fraction(-5)), Fraction(20)) * 2
    whole = int(abs(halves) + Fraction(1, 2))  # halves are rounded away from zero
    return whole if halves >= 0 else -whole


def expected(bound: CandidateBound, events: list[Event], window: int | None) -> list[int]:
    """What the candidates of a bound clip, counted event by event."""
    units: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        if event[1]:
            units[event[1], 0 if window is None else (event[0] - 1) // window].append(event)
    return [
        sum(part(bound, candidate, mine) for mine in units.values()) for candidate in bound.whole
    ]


def part(bound: CandidateBound, candidate: int, mine: list[Event]) -> int:
    steps: dict[int, int] = defaultdict(int)
    for at, *_ in mine:
        steps[at] += 1
    top = bound.whole[-1]
    if bound.name == "max_steps":
        return SCALE * (min(len(steps), top) - min(len(steps), candidate))
    if bound.name == "max_per_step":
        over = sum(min(n, top) - min(n, candidate) for n in steps.values())
        return SCALE * over // len(steps)
    hot = [units_of(amount) for _, _, amount, fever in mine if fever]
    values = [value for value in hot if value is not None]
    if not values:
        return 0
    sign = 1 if bound.name == "upper" else -1
    return SCALE * sum(max(sign * (value - candidate), 0) for value in values) // len(values)


@pytest.mark.parametrize(("unit", "window"), [(USERS, None), (WINDOWS, 4)])
def test_it_is_what_one_counts_by_hand(
    unit: str, window: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = world_of(tmp_path_factory.mktemp("hand"), COUNT + FEVERS, unit)
    asked = question(world)
    assert [bound.label for bound in asked.bounds] == [
        "max_per_step",
        "max_steps",
        "spent.lower",
        "spent.upper",
    ]

    @settings(max_examples=25, deadline=None)
    @given(EVENTS)
    def search(events: list[Event]) -> None:
        every = scores(world, asked, rows_of(events))
        for bound, costs, mine in zip(asked.bounds, asked.costs, every, strict=True):
            amounts = [-score - cost for score, cost in zip(mine, costs, strict=True)]
            assert amounts == expected(bound, events, window), bound.label

    search()


def test_events_are_units_of_their_own(tmp_path: Path) -> None:
    world = world_of(tmp_path, FEVERS, EVENT)
    asked = question(world)
    events: list[Event] = [(1, "ada", 7, True), (1, "ada", 900, True), (2, "", -3, True)]
    every = scores(world, asked, rows_of([*events, (3, "bob", 20, False), (4, "bob", "x", True)]))
    for bound, costs, mine in zip(asked.bounds, asked.costs, every, strict=True):
        alone = [part(bound, candidate, [event]) for candidate in bound.whole for event in events]
        sums = [sum(alone[place : place + 3]) for place in range(0, len(alone), 3)]
        assert [-score - cost for score, cost in zip(mine, costs, strict=True)] == sums


def test_a_weight_stands_for_so_many_events(tmp_path: Path) -> None:
    world = world_of(tmp_path, SUM, EVENT, stream='weight = "age"')
    asked = question(world)
    once = scores(world, asked, [row(1, age=1, amount=7)])
    none = scores(world, asked, [])
    five = scores(world, asked, [row(1, age=8, amount=7), row(2, age=-3, amount=7)])
    for a, b, c in zip(none, once, five, strict=True):
        assert [z - x for x, z in zip(a, c, strict=True)] == [
            5 * (y - x) for x, y in zip(a, b, strict=True)
        ]
    # n and n + 1 are neighbours
    assert max(asked.recipe.sensitivities) >= max(
        abs(y - x) for a, b in zip(none, once, strict=True) for x, y in zip(a, b, strict=True)
    )


HEAVY = [
    *[row(at, "heavy", amount=1e9, hour=hour) for at in range(1, 9) for hour in range(24)],
    *[row(at, "deep", amount=-1e9) for at in range(1, 9)],
    row(1, "once", amount=3),
    row(2, "once", amount=""),
]


@pytest.mark.parametrize(
    ("unit", "releases", "window"),
    [(USERS, COUNT + SUM, None), (WINDOWS, COUNT + SUM, 4), (USERS, MEAN, None)],
)
def test_one_unit_changes_every_score_the_same_way_and_by_a_capped_part(
    unit: str, releases: str, window: int | None, tmp_path: Path
) -> None:
    world = world_of(tmp_path, releases, unit)
    asked = question(world)
    whole = scores(world, asked, HEAVY)
    largest = [0] * len(asked.bounds)
    for fewer in without(HEAVY, window):
        for place, (mine, other) in enumerate(zip(whole, scores(world, asked, fewer), strict=True)):
            changes = [there - here for here, there in zip(mine, other, strict=True)]
            assert all(change >= 0 for change in changes)
            largest[place] = max(largest[place], *changes)
    assert largest == list(asked.recipe.sensitivities), "and somebody reaches the cap"
    assert worst_loss(world, asked, HEAVY, window=window) <= 1 + 1e-9


def uncapped(self: Any, place: int, which: int) -> str:
    """The mistake: a unit's part grows with the number of its events."""
    capped = right(self, place, which)
    if self._bounds[place].name == "max_steps":
        return f"{capped} * sum(events)"
    return capped.partition(" // ")[0]


right = clipped._Pass._part


@pytest.mark.parametrize("bound", ["max_steps", "max_per_step", "spent.upper"])
def test_units_without_a_cap_are_caught(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = {"max_per_step": 1, "max_steps": 1, "spent.lower": -1, "spent.upper": 20}
    grids = {label: [Fraction(value)] for label, value in fixed.items()}
    grids[bound] = [Fraction(one) for one in (1, 2, 5)]
    world = world_of(tmp_path)
    asked = question(world, grids)
    # without the heavy user all candidates are about as likely as another
    rows = [*HEAVY, *(row(1, f"user-{n}") for n in range(3))]
    assert worst_loss(world, asked, rows) <= 1 + 1e-9
    monkeypatch.setattr(clipped._Pass, "_part", uncapped)
    assert worst_loss(world, asked, rows) > 1.5


def test_several_passes_over_the_users_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path)
    asked = question(world)
    rows = [*HEAVY, *(row(1 + n % 8, f"user-{n}", amount=n) for n in range(50))]
    once = scores(world, asked, rows)
    shares: list[int] = []
    add = clipped._Pass._add_users

    def noted(self: Any, duck: Any, share: int, passes: int) -> None:
        shares.append(share)
        add(self, duck, share, passes)

    monkeypatch.setattr(clipped._Pass, "_add_users", noted)
    monkeypatch.setattr(clipped, "_BYTES_A_PASS", 1000)
    assert scores(world, asked, rows) == once
    assert shares == list(range(len(shares)))
    assert len(shares) > 3


def test_too_little_memory_is_tried_again_with_fewer_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path)
    asked = question(world)
    whole, tries = scores(world, asked, HEAVY), []

    def scarce(self: Any, passes: int) -> Any:
        tries.append(passes)
        if passes < 4:
            raise OutOfMemory("too much")
        return enough(self, passes)

    enough = clipped._Pass.all
    monkeypatch.setattr(clipped._Pass, "all", scarce)
    assert asked.scores() == whole
    assert tries == [1, 2, 4]
    monkeypatch.setattr(clipped, "_MOST_PASSES", 2)
    with pytest.raises(OutOfMemory):
        asked.scores()
    tries.clear()
    with pytest.raises(OutOfMemory):  # a second pass would add events twice
        question(world_of(tmp_path, SUM, EVENT)).scores()
    assert tries == [1]


def test_a_user_in_several_scans_is_one_user(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + SUM, unit=USERS)
    world.text = world.text.replace('"events.csv"', '"part-*.csv"')
    lines = world.write(HEAVY).file.read_text(encoding="utf-8").splitlines()
    world.file.unlink()
    for name, part_of in (("a", HEAVY), ("b", [])):
        (tmp_path / f"part-{name}.csv").write_text("\n".join([lines[0], *part_of, ""]))
    asked = question(world)
    whole = asked.scores()
    for name, part_of in (("a", HEAVY[:30]), ("b", HEAVY[30:])):
        (tmp_path / f"part-{name}.csv").write_text("\n".join([lines[0], *part_of, ""]))
    assert asked.scores() == whole
    assert asked.now == NOW
