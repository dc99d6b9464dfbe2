"""Pan-private plans for users with every statistic that a table can tell: the numbers that they
publish, the exact loss through the engine's own folding, crashes, refusals and words."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.core.loss import Pure
from ameles.engine.sealed.sealed_state import SealedState
from ameles.measures.table_choice import inner_of
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.noisy_counts import (
    NoisyCropped,
    NoisyHeavy,
    NoisyIncidence,
)
from ameles.mechanisms.continual.estimators.noisy_table import NoisyTable
from ameles.noise import Zero
from ameles.plan.forecast import forecasts, in_words
from tests.engine.lost_states import feed, lose_key, reserving
from tests.engine.people import (
    BATCHES,
    EVERY,
    TABLES,
    WINDOW,
    WITHOUT,
    People,
    folded,
    problems,
    stream_of,
    who,
)
from tests.mechanisms.continual.seizing import worst

EACH = {name: f'[[release]]\nname = "people"\n{said}\n' for name, said in TABLES.items()}
ROWS = [
    [who("ada", "bob", "ada"), who("ada")],
    [who("cyn"), who("bob", fever="false")],
    [],
    [who("ada", "dan", "cyn", "cyn", "eve")],
]


def several(folder: Path, *given: Any) -> People:
    """A plan with every statistic, at an epsilon at which few users show."""
    world = People(folder, EVERY, *given)
    world.text = world.text.replace("epsilon = 1\n", "epsilon = 400\n")
    return world


def replayed(world: People, steps: Any, horizon: int | None = None) -> dict[str, list[float]]:
    """What the mechanisms publish without noise about the users' cells, which the test computes."""
    plan, salt = world.plan, stream_of(world).salt.hex()
    published: dict[str, list[float]] = {}
    for release in plan.releases:
        recipe: Any = plan.recipes[release.name]
        run = recipe.start(Zero())
        lines = []
        for number, batches in enumerate(steps, start=1):
            users = [line.split(",")[1] for rows in batches for line in rows]
            digests = [hashlib.sha256((salt + user).encode()).hexdigest() for user in users]
            cells = [int(digest[:15], 16) % (release.hashed_cells or 1) for digest in digests]
            run.add(np.array(cells, dtype=np.int64))
            output = np.array([[run.release()]])
            told = release.publish(recipe, plan.terms(release), output, number, output[:0])
            lines.append(float(told.value[0, 0]))
        published[release.name] = lines
    return published


def test_every_statistic_is_that_of_the_users_cells(tmp_path: Path) -> None:
    world = several(tmp_path)
    world.feed(*ROWS[:2], noise=Zero())
    world.feed(*ROWS[2:], noise=Zero())  # it goes on where it was
    for name, values in replayed(world, ROWS).items():
        assert world.values(name, "") == pytest.approx(values)
        assert len(set(values)) > 1, name


def test_windows_begin_anew(tmp_path: Path) -> None:
    world = several(tmp_path, WINDOW, None)
    world.feed(*ROWS, *ROWS, noise=Zero())
    for name, values in replayed(world, ROWS + ROWS).items():
        assert world.values(name, "") == pytest.approx(values)


def test_a_crash_between_folding_and_releasing_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = several(tmp_path)
    world.feed(ROWS[0], noise=Zero())

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedState, "_store_step", dies)
    with pytest.raises(KeyboardInterrupt):
        world.feed(ROWS[1], noise=Zero())
    monkeypatch.undo()
    world.feed(*ROWS[2:], noise=Zero())
    for name, values in replayed(world, ROWS).items():
        assert world.values(name, "") == pytest.approx(values)


def test_a_restart_counts_anew_and_says_so(tmp_path: Path) -> None:
    world = reserving(several(tmp_path), 1)
    feed(world, *[[line for rows in step for line in rows] for step in ROWS[:2]])
    lose_key(world)
    feed(world, *[[line for rows in step for line in rows] for step in ROWS[2:]], restart="theft")
    labels = {r.step: r.label for r in world.releases() if r.release == "seen"}
    assert labels == {1: "", 2: "", 3: "restarted", 4: "restarted"}
    people: Any = world
    after = replayed(people, [[], [], *ROWS[2:]])
    for name, values in after.items():
        assert world.values(name, "")[2:] == pytest.approx(values[2:])


def test_residues_are_published_once_at_the_end(tmp_path: Path) -> None:
    text = '[[release]]\nname = "odd"\nmeasure = "modular"\nmodulus = 2\ntable = 9000\nusers = 9\n'
    world = People(tmp_path, text, horizon=4)
    world.feed(*ROWS[:2], noise=Zero())
    world.feed(*ROWS[2:], noise=Zero())
    found = [(r.step, r.key, r.label, r.value is None) for r in world.releases()]
    waiting = [(step, key, "waiting", True) for step in (1, 2, 3) for key in "01"]
    assert found == [*waiting, (4, "0", "", False), (4, "1", "", False)]
    # dan, eve and cyn have an odd number of events, ada and bob an even one; no two share a cell
    # with a probability of 0.998
    recipe: Any = world.plan.recipes["odd"]
    error = recipe.table.error
    (one,) = [r.value for r in world.releases() if (r.step, r.key) == (4, "1")]
    hits = (3 - error.chances[0] * 9000) * error.unit * 9000
    assert one is not None
    assert one * 9 == pytest.approx(hits, abs=1e-3)
    words = " ".join(in_words(world.plan))
    assert "the intervals of 'odd' allow for that if at most 9 users come" in words


def test_shares_are_divided_and_add_up(tmp_path: Path) -> None:
    plan = People(tmp_path, EVERY.replace("share = 0.2", "")).plan
    assert sum(loss.epsilon for loss in plan.shares.values()) == 1
    assert len({loss.epsilon for loss in plan.shares.values()}) > 3
    for name, recipe in plan.recipes.items():
        assert recipe.guarantee.loss == plan.shares[name]


# The exact loss, through the engine's own folding -----------------------------------------------

SMALL: dict[str, NoisyTable] = {
    "often": NoisyCropped(users=2, epsilon=1, neighbours="user-presence", crop=2),
    "twice": NoisyHeavy(users=2, epsilon=2, neighbours="user-presence", at_least=2),
    "once": NoisyIncidence(users=2, epsilon=2, neighbours="user-presence", exactly=1),
}


@pytest.mark.parametrize("name", ["often"])
def test_all_events_of_a_user_touch_one_cell_and_the_loss_is_the_claim(
    tmp_path: Path, name: str
) -> None:
    world = People(tmp_path, EACH[name].replace("table = 3100", "table = 2"))
    world.feed([], noise=Zero())
    stream = stream_of(world)
    # one event a call, which has fewer tapes; without the user the call folds nothing
    one, other = (
        folded(world, [[line] for rows in batches for line in rows], stream)
        for batches in (BATCHES, WITHOUT)
    )
    assert [len(call) for call in other] == [0, 1, 0, 0, 1, 0]
    assert one[1] == other[1]
    assert one[4] == other[4]
    assert one[0] == one[2] == one[3] == one[5]
    table = SMALL[name]
    rho = table.sensitivity
    recipe = Afresh(algorithm=table, epsilon=rho, horizon=1, sensitivity=rho)
    assert recipe.guarantee.loss == Pure(table.epsilon + rho)
    assert 0 < worst(recipe, [([one], [other])], modulus=3) <= table.epsilon + rho


# Refusals and words -----------------------------------------------------------------------------


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    by = 'over = "step"\nby = { region = ["north", "south"] }\n'
    releases = "".join(
        text.replace('"people"', f'"{name}"').replace("users = 300", "users = 9000") + by
        for name, text in EACH.items()
    )
    told = problems(People(tmp_path, releases))
    for name in EACH:
        assert f"release '{name}'.over" in told
        assert f"release '{name}'.by" in told
        assert (f"release '{name}'.table" in told) == (name in ("twice", "once"))


@pytest.mark.parametrize("missing", ["users", "table", "crop", "at_least", "exactly"])
def test_what_it_needs_is_named(tmp_path: Path, missing: str) -> None:
    (text, *_) = [text for text in EACH.values() if f"\n{missing} = " in text]
    lines = [line for line in text.splitlines() if not line.startswith(missing)]
    told = problems(People(tmp_path, "\n".join(lines) + "\n"))
    assert f"release 'people'.{missing}" in told


def test_the_plan_says_what_it_does(tmp_path: Path) -> None:
    world = several(tmp_path)
    words = " ".join(in_words(world.plan))
    for text in (
        "the intervals of 'twice' allow for that if at most 300 users come",
        "'once' allow for that if at most 300 users come",
        "'seen' allow for it. It is a part of 300 users",
        "counted in 3,300 cells",
    ):
        assert text in words
    assert "'once' are wider than half of what is possible" in words
    world.text = world.text.replace("users = 300", "users = 300000")
    for size in (3000, 3100, 3200, 3300):
        world.text = world.text.replace(f"table = {size}", f"table = {size}000")
    assert "wider than half of what is possible" not in " ".join(in_words(world.plan))
    for one in forecasts(world.plan):
        assert "afresh at each of 8 steps" in one.why
        assert isinstance(inner_of(world.plan.recipes[one.release]), Afresh)
