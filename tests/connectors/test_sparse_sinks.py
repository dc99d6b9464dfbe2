"""Databases as sinks of streams whose keys are discovered: steps without rows, and hostile keys."""

from __future__ import annotations

from tests.connectors.database_places import Place, place, quick, redis_server
from tests.engine.worlds import USER, row

__all__ = ["place", "quick", "redis_server"]  # fixtures

KEYS = ("'; DROP TABLE releases; --", "=cmd|'/C calc'!A0", "\U0001f469‍\U0001f52c", "%s \\N {0}")


def test_steps_without_rows_and_hostile_keys(place: Place) -> None:
    world = place.world
    head, _, last = world.text.replace("[[release]]", "#[[release]]").split("#")
    world.text = head + last  # without the release that has no keys
    for before, after in (
        ('unit = "event"', USER),
        ("epsilon = 1\n", "epsilon = 300\ndelta = 0.01\n"),
        ('region = ["north", "south"]', 'region = "discovered"'),
    ):
        assert before in world.text
        world.text = world.text.replace(before, after)
    world.write(row(3, f"{n}-{key}", region=key) for n, key in enumerate(20 * KEYS))
    for step in (1, 2, 3, 5):
        place.run(step)
        state = place.state()
        assert (state.step, state.problem) == (step, None)
    told = place.has()
    assert sorted(told, key=repr) == sorted(place.released(), key=repr)
    assert {row[2] for row in told} == set(KEYS)
    assert {row[3] for row in told} == {"3", "4", "5"}
