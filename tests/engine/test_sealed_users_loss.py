"""The exact loss of users whose state may be seized, through the engine's own folding: all
events of a user touch one cell, and where it is."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

from ameles.connectors.duck import connect
from ameles.connectors.standard_input import StandardInput
from ameles.engine.gathering.user_cells import Folding
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct
from ameles.noise import Zero
from tests.engine.people import BATCHES, DISTINCT, WITHOUT, People, folded, stream_of, who
from tests.mechanisms.continual.seizing import worst

# In base 2: bits of epsilon 1, and releases of epsilon 1 each.
SMALL = Afresh(
    algorithm=NoisyDistinct(users=2, epsilon=1, neighbours="user-presence"),
    epsilon=2,
    horizon=2,
    sensitivity=1,
)


def lost(one: list[list[int]], other: list[list[int]]) -> float:
    """The exact loss, in bits, of all releases and the state at any instant."""
    steps = ([one[:2], one[2:]], [other[:2], other[2:]])
    return worst(SMALL, [steps], modulus=5)


def test_all_events_of_a_user_touch_one_cell_and_the_loss_is_the_claim(tmp_path: Path) -> None:
    world = People(tmp_path, DISTINCT.replace("5000", "2"))
    world.feed([], noise=Zero())
    stream = stream_of(world)
    with_user, without = folded(world, BATCHES, stream), folded(world, WITHOUT, stream)
    ada = folded(world, [who("ada")], stream)[0][0]
    assert sum(map(len, with_user)) == 6
    assert sum(map(len, without)) == 2
    others = [list(batch) for batch in with_user]
    for batch, times in zip(others, (2, 1, 1), strict=True):
        for _ in range(times):
            batch.remove(ada)
    assert others == without  # of the others nothing changed
    assert 0 < lost(with_user, without) <= 3


def test_a_hash_that_changes_is_caught() -> None:
    # as if the user's cell were another one in the second batch: two bits, and twice their loss
    table = NoisyDistinct(users=2, epsilon=2, neighbours="user-presence")
    recipe = Afresh(algorithm=table, epsilon=1, horizon=1, sensitivity=1)
    assert worst(recipe, [([[[0], [0]]], [[[], []]])], modulus=5) <= 3
    assert worst(recipe, [([[[0], [1]]], [[[], []]])], modulus=5) > 3


def test_cells_are_where_they_should_be(tmp_path: Path) -> None:
    world = People(tmp_path)
    world.feed([], noise=Zero())
    stream = stream_of(world)
    names = ["ada", "bob", "cyn", "dan", "é", "0"]
    cells = [batch[0] for batch in folded(world, [who(name) for name in names], stream)]
    for name, cell in zip(names, cells, strict=True):
        digest = hashlib.sha256((stream.salt.hex() + name).encode()).hexdigest()
        assert cell == int(digest[:15], 16) % 5000


def test_one_user_has_one_cell_however_the_id_is_written(tmp_path: Path) -> None:
    world = People(tmp_path)
    world.text = world.text.replace("source = ", 'format = "jsonl"\nsource = ')
    world.feed([], noise=Zero())
    stream = stream_of(world)
    source = StandardInput("jsonl", world.plan.kinds)

    def cells(*ids: str) -> list[int]:
        lines = "".join(f'{{"who": {one}}}\n' for one in ids)
        with closing(connect(zone="UTC", memory=1 << 28, readable=())) as duck:
            (found,) = Folding(world.plan, duck, stream).cells(source.reading([lines.encode()]))
        return [int(cell) for cell in found["people"]]

    assert len(set(cells("7", "7.0", '"7"'))) == 1
    assert len(cells('"é"', '"\\u00e9"')) == 2
    assert len(set(cells('"é"', '"\\u00e9"'))) == 1
    assert cells('""', "null", "7.5", "true", "{}", '["7"]', "NaN", "1e400") == []
