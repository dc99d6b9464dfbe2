"""Restarts: counted, paid for at launch, safe at every instant; totals go on, users are counted
anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT as ONE_EVENT
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.engine.engine import Engine
from ameles.engine.sealed.stream_vault import folder_of
from ameles.engine.sealed.vault import EpochEnded, VaultMissing
from ameles.measures.count import Count
from ameles.measures.measure import Terms
from ameles.noise import System, Zero
from ameles.store import open_store
from tests.engine.lost_states import TOTAL, epochs, feed, lose_key, reserving
from tests.engine.test_sealed import STEP, SUM, Sealed
from tests.engine.worlds import COUNT, World, row

QUANTILE = (
    '[[release]]\nname = "q"\nmeasure = "quantile"\ncolumn = "amount"\nq = 0.5\n'
    "edges = [0, 5, 10]\n"
)


def tear(world: World) -> None:
    """The power fails in the middle of a save."""
    (key,) = (world.folder.parent / "keys").rglob("key")
    content = bytearray(key.read_bytes())
    content[40:80] = bytes(40)
    key.write_bytes(content)


def lose_vault(world: World) -> None:
    (folder,) = world.folder.glob("*.vault")
    shutil.rmtree(folder)


def lose_folder(world: World) -> None:
    shutil.rmtree(world.folder.parent / "keys")


@pytest.mark.parametrize("lose", [lose_key, tear, lose_vault, lose_folder])
def test_totals_steps_and_windows_go_on(tmp_path: Path, lose: Callable[[World], None]) -> None:
    world = reserving(Sealed(tmp_path, COUNT + STEP + SUM))
    feed(world, [row(1), row(1, region="south")], [row(1, amount=5), row(1)])
    lose(world)
    with pytest.raises((EpochEnded, VaultMissing), match="2 of 2 are left"):
        feed(world, [row(1)])
    feed(world, [row(1, amount=7)], restart="the power failed")
    feed(world, [row(1), row(1)], [])
    assert world.values() == [1, 3, 4, 6, 6]
    assert world.values("visits", "south") == [1, 1, 1, 1, 1]
    assert world.values("daily") == [1, 2, 1, 2, 0]
    assert world.values("paid", "") == [2, 8, 13, 9, 2]  # two days each
    (noted,) = epochs(world)
    assert (noted.number, noted.released, noted.why) == (2, 2, "the power failed")
    assert noted.begun


def test_a_quantile_goes_on(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, QUANTILE))
    feed(world, [row(1, amount=8)] * 3)
    lose_key(world)
    feed(world, [row(1, amount=2)] * 9, restart="a reboot")
    before, after = world.values("q", "")
    assert before is not None
    assert after is not None
    assert 5 < before < 10
    assert 0 < after < 5


def test_a_second_restart_goes_on_from_the_first(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [row(1)])
    for number, why in enumerate(["a theft", "a fire"], start=1):
        lose_key(world)
        feed(world, [row(1)] * 3, restart=why)
        assert world.values("visits", "")[-1] == 1 + 3 * number
    lose_key(world)
    with pytest.raises(EpochEnded, match="another name for a new stream"):
        feed(world, [])
    with pytest.raises(EpochEnded, match="its 2 restarts are used up"):
        feed(world, [], restart="once more")
    assert len(epochs(world)) == 2


def test_before_the_first_release(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL + SUM))
    feed(world)
    lose_key(world)
    feed(world, [row(1)], [row(1)], restart="a theft")
    assert world.values("visits", "") == [1, 2]
    assert world.values("paid", "") == [1, 2]


def test_without_restarts_the_stream_has_ended(tmp_path: Path) -> None:
    world = Sealed(tmp_path, TOTAL)
    feed(world, [row(1)])
    lose_key(world)
    with pytest.raises(EpochEnded, match="another name"):
        feed(world, [])
    with pytest.raises(EpochEnded, match="it has no restarts"):
        feed(world, [], restart="a theft")
    assert epochs(world) == ()


def test_what_was_not_lost_is_not_restarted(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    with pytest.raises(BadInput, match="nothing to restart"):
        feed(world, [], restart="haste")
    feed(world, [row(1)])
    with pytest.raises(BadInput, match="can be read: there is nothing to restart"):
        feed(world, [], restart="haste")
    assert epochs(world) == ()
    feed(world, [row(1)])
    assert world.values("visits", "") == [1, 2]
    plain = World(tmp_path / "plain").write([])
    plain.run(1)
    with (
        closing(open_store(str(plain.folder / "s.db"))) as store,
        pytest.raises(BadInput, match='intrusions = "none"'),
    ):
        Engine(plain.plan, store, noise=Zero(), restart="haste").run()


def test_a_lost_list_of_sizes_is_no_lost_state(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [row(1)])
    (sizes,) = world.folder.rglob("*.size")
    sizes.unlink()
    feed(world, [row(1)])
    assert world.values("visits", "") == [1, 2]


def test_the_lost_state_cannot_be_read_beside_the_new_one(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [row(1)])
    with closing(open_store(str(world.folder / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
    assert stream is not None
    vault = folder_of(world.plan, stream.identity)
    before = [file.read_bytes() for file in vault.glob("state.*")]
    shutil.move(tmp_path / "keys", tmp_path / "elsewhere")  # a disk that was not mounted
    with pytest.raises(VaultMissing, match="mount it; if it is lost"):
        feed(world, [])
    feed(world, [row(1)], restart="the disk is gone")
    after = [file.read_bytes() for file in vault.glob("state.*")]
    assert not {content for content in before if any(content)} & set(after)
    # and the old key, when it is found again, opens nothing
    shutil.rmtree(tmp_path / "keys")
    shutil.move(tmp_path / "elsewhere", tmp_path / "keys")
    with pytest.raises(EpochEnded):
        feed(world, [])


STEPS = 30
LIVE = Terms(
    unit=ONE_EVENT,
    per_step=1,
    max_steps=1,
    horizon=STEPS,
    window=None,
    intrusions=Intrusions.ONE,
)


def misses(terms: Terms, claimed: Terms, runs: int) -> int:
    """How often the noise of the last step, after restarts at 7 and 20, is beyond its bound."""
    measure = Count(name="c", measure="count", over="total")
    recipe: Any = measure.recipe(terms, Pure(1))
    bound = float(measure.noise(recipe, claimed, np.array([STEPS]))[0])
    window = terms.window or STEPS
    wrong = 0
    for _ in range(runs):
        total = np.zeros(STEPS + 1, dtype=np.int64)
        for start, end in ((0, 7), (7, 20), (20, STEPS)):
            run = recipe.start(System.direct())
            outputs = run.feed(np.zeros((end, 1), dtype=np.int64))[:, 0].tolist()
            total[start + 1 : end + 1] = total[start] + np.array(outputs[start:])
        wrong += abs(int(total[STEPS] - total[STEPS - window])) > bound
    return wrong


# 400 runs; false alarm 1e-6
@pytest.mark.parametrize("window", [None, 5, 15])
def test_intervals_hold_after_restarts(window: int | None) -> None:
    terms = replace(LIVE, window=window)
    restarted = replace(terms, ended=(7, 20))
    assert misses(terms, restarted, 400) <= binom.isf(1e-6, 400, 0.05)


def test_intervals_that_forget_the_restarts_are_caught() -> None:
    # one in five misses: 600 runs pass with a probability below 1e-6
    across = replace(LIVE, window=15)
    assert misses(across, across, 600) > binom.isf(1e-6, 600, 0.05)
