"""Keys that are discovered while a stream runs: without noise, what the rule says by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ameles.core.noise import Shape
from ameles.noise import Zero
from ameles.noise.arrays import IntArray
from tests.engine.tags import TAGS, USER, WINDOW, Tags, crowd, followed, same_salt
from tests.postgres import Server

BY = 'by = { tag = "discovered" }\n'
RELEASES = {
    "tags": 'measure = "count"\nmax_keys = 6\n' + BY,
    "often": 'measure = "count"\nmax_keys = 6\nmax_per_key = 3\nover = "step"\n' + BY,
    "sums": 'measure = "sum"\ncolumn = "amount"\nlower = -2\nupper = 5\ngranularity = 1\n'
    'over = "2d"\nby = { region = ["north", "south"], tag = "discovered" }\n',
    "people": f'measure = "distinct"\nslots = [3, 1]\n{BY}',
    "daily": f'measure = "distinct"\nover = "step"\n{BY}',
    "sizes": 'measure = "histogram"\ncolumn = "amount"\nedges = [-3, 0, 2, 5]\nlooks = 3\n' + BY,
    "top": f'measure = "top"\nk = 4\n{BY}',
}
EVERY = "".join(f'[[release]]\nname = "{name}"\n{said}' for name, said in RELEASES.items())


@pytest.mark.parametrize(("unit", "late"), [(USER, "next"), (WINDOW, "drop")])
def test_every_measure_is_what_the_rule_says(tmp_path: Path, unit: str, late: str) -> None:
    events = crowd(days=6, users=25, events=220, seed=1)
    # parts of all days come in each delivery: much of it waits, and much is late
    deliveries = [(events[:80], 0), (events[80:150], 3), (events[150:], 4), ([], 6)]
    tags = Tags(tmp_path, EVERY, unit=unit, late=late, privacy="epsilon = 900\ndelta = 0.01")
    rule = followed(tags, deliveries)
    published = tags.published()
    assert published == rule.published()
    for name in RELEASES:
        assert sum(key[0] == name for key in published) > 8, name
    hidden = {event.tag for event in events} - {key for name, _, key in published if name == "tags"}
    assert hidden  # some are too rare


@pytest.mark.parametrize("batch", [1, 30])
def test_batches_of_steps_change_nothing(tmp_path: Path, batch: int) -> None:
    deliveries = [(crowd(days=6, users=25, events=200, seed=2), 6)]
    tags = Tags(tmp_path, TAGS + "max_per_key = 2\nmax_keys = 5\n", unit=WINDOW)
    rule = followed(tags, deliveries, lambda tags, until: tags.run(until, batch=batch))
    assert tags.published() == rule.published()


class Counted(Zero):
    """Noise by a rule: the same draws in the same order."""

    def __init__(self) -> None:
        self.drawn = 0

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        draws: IntArray = np.arange(super().gaussian(variance, size).size) + self.drawn
        self.drawn += draws.size
        return (draws * 7919 % 61 - 30).reshape(size)


def test_both_databases_give_the_same(tmp_path: Path, postgres: Server) -> None:
    events = crowd(days=6, users=25, events=150, seed=7)
    published = list[list[dict[str, object]]]()
    for url in ("s.db", postgres.url(postgres.new_database())):
        world = Tags(tmp_path / str(len(published)), EVERY, unit=WINDOW, url=url)
        with same_salt():
            for part, until in ((events[:60], 2), (events[60:], 6)):
                world.append(part).run(until, noise=Counted())
        published.append([r.to_dict() for r in world.releases()])
    assert published[0] == published[1]
    assert len(published[0]) > 100
