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

from ameles.connectors import durable
from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import BadInput, PlanError, StoreRefused
from ameles.core.guarantee import EVENT as ONE_EVENT
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.engine.engine import Engine
from ameles.engine.sealed import restarting
from ameles.engine.sealed.restarting import Restarting
from ameles.engine.sealed.stream_vault import folder_of
from ameles.engine.sealed.vault import EpochEnded, VaultMissing, disk
from ameles.measures.count import Count
from ameles.measures.measure import Terms
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.distinct import NoisyDistinct
from ameles.mechanisms.continual.renewed import Renewed
from ameles.noise import System, Zero
from ameles.plan.forecast import in_words
from ameles.store import EpochRecord, open_store
from tests.engine.test_sealed import STEP, SUM, Sealed
from tests.engine.test_sealed_users import ROOMY, USER, WINDOW, People, who
from tests.engine.worlds import COUNT, HEADER, World, row
from tests.mechanisms.continual.seizing import worst

TOTAL = COUNT.replace('by = { region = ["north", "south"] }\n', "")
QUANTILE = (
    '[[release]]\nname = "q"\nmeasure = "quantile"\ncolumn = "amount"\nq = 0.5\n'
    "edges = [0, 5, 10]\n"
)


def reserving(world: World, restarts: int = 2) -> World:
    world.text = world.text.replace('intrusions = "', f'restarts = {restarts}\nintrusions = "')
    return world


def feed(
    world: World, *steps: list[str], restart: str | None = None, noise: Noise | None = None
) -> None:
    """Folds the rows of some steps, and closes each of them."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        engine = Engine(world.plan, store, noise=noise or Zero(), restart=restart)
        source = StandardInput("csv", world.plan.stream.columns)
        source.reading([f"{HEADER}\n".encode()])
        with engine.session() as session:
            for rows in steps:
                text = "".join(f"{line}\n" for line in rows)
                session.take(source.reading([text.encode()]), 0)
                session.take(source.reading([]), session.stream.released + 1)


def lose_key(world: World) -> None:
    """The key is gone, as after a reboot."""
    (key,) = (world.folder.parent / "keys").rglob("key")
    key.unlink()


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


def epochs(world: World) -> tuple[EpochRecord, ...]:
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        stream = transaction.stream("s")
        assert stream is not None
        return transaction.epochs(stream)


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


# A crash at every instant -----------------------------------------------------------------------


class Crash(BaseException):
    """The machine stops."""


CHANGES: tuple[tuple[Any, str], ...] = (
    (disk, "write"),
    (disk, "put"),
    (disk, "sync_names"),
    (durable, "replace"),
)


def crashing(patch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Stops at the change of this number, just before it; tells how many there were."""
    done = 0

    def watched(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **more: Any) -> Any:
            nonlocal done
            done += 1
            if done == at:
                raise Crash
            return change(*given, **more)

        return changed

    for place, name in CHANGES:
        patch.setattr(place, name, watched(getattr(place, name)))
    for name in ("_count", "_begin"):  # after a commit, too
        real = getattr(Restarting, name)
        patch.setattr(
            Restarting, name, lambda self, *given, real=real: (real(self, *given), watched(int)())
        )
    return lambda: done


def survives(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Crashes a restart at each of its changes; how many there are."""
    world = reserving(Sealed(folder / "world", TOTAL), 1)
    feed(world, [row(1)])
    lose_key(world)
    shutil.copytree(folder / "world", folder / "lost")
    for at in range(1, 100):
        shutil.rmtree(folder / "world")
        shutil.copytree(folder / "lost", folder / "world")
        with monkeypatch.context() as patch:
            count = crashing(patch, at)
            try:
                feed(world, restart="a theft")
            except Crash:
                crashed = True
            else:
                crashed = False
        # the old epoch, which has ended, or the new one: never both, and counted once
        if not epochs(world):
            with pytest.raises(EpochEnded, match="1 of 1 are left"):
                feed(world)
            feed(world, restart="a theft")
        feed(world, [row(1)] * 2)
        (noted,) = epochs(world)
        assert noted.begun
        assert world.values("visits", "") == [1, 3]
        if not crashed:
            return count()
    raise AssertionError


def test_a_crash_at_any_change_leaves_one_epoch_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert survives(tmp_path, monkeypatch) > 10


class VaultFirst(Restarting):
    """Makes the vault before it counts the restart."""

    def _count(self, why: str, used: int) -> None:
        with self.store.reading() as transaction:
            known = transaction.epochs(self.stream)
        if not known:
            self._begin(EpochRecord(2, self.stream.released, self.stream.launched, why, b"", False))
        super()._count(why, used)


def test_a_vault_that_is_made_before_it_is_counted_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.engine.engine.Restarting", VaultFirst)
    with pytest.raises((AssertionError, StoreRefused, pytest.fail.Exception)):
        survives(tmp_path, monkeypatch)


def test_a_reboot_in_the_middle_of_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [row(1)])
    lose_key(world)

    def dies(*given: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("ameles.store.epochs.Epochs.begin_epoch", dies)
        with pytest.raises(Crash):
            feed(world, restart="a theft")
    lose_key(world)
    with pytest.raises(EpochEnded, match="1 of 2 are left"):
        feed(world)
    feed(world, [row(1)], restart="and a reboot")
    assert world.values("visits", "") == [1, 2]
    assert [epoch.begun for epoch in epochs(world)] == [False, True]


# Noise --------------------------------------------------------------------------------------------

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


# Users ----------------------------------------------------------------------------------------


def test_users_are_counted_anew_and_it_says_so(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY), 1)
    feed(world, who("ada", "bob"), [])
    lose_key(world)
    feed(world, who("ada", "cyn", "dan"), restart="a theft")
    people: Any = world
    assert people.ones() == [2, 2, 3]
    assert [release.label for release in world.releases()] == ["", "", "restarted"]


def test_a_window_that_begins_after_the_restart_is_whole(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY, WINDOW, None), 1)
    feed(world, who("ada"))
    lose_key(world)
    feed(world, who("bob"), [], who("cyn", "ada"), restart="a theft")
    people: Any = world
    assert people.ones() == [1, 1, 1, 2]
    assert [r.label for r in world.releases()] == ["", "restarted", "restarted", ""]


def test_users_pay_for_every_epoch_at_launch(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY), 2)
    feed(world, [])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert [(entry.on, entry.paid) for entry in ledger.entries] == [
        ("s/people", Pure("1/3")),
        ("s/people (restart 1)", Pure("1/3")),
        ("s/people (restart 2)", Pure("1/3")),
    ]
    assert ledger.spent == Pure(1)


def test_events_pay_once(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert [(entry.on, entry.paid) for entry in ledger.entries] == [("s/visits", Pure(1))]


def test_a_user_in_two_epochs_loses_more_than_the_price_of_one() -> None:
    # An epoch is a fresh table, like a window: a user in both loses up to twice as much, which
    # is why users pay for each; an event is in one of them.
    table = NoisyDistinct(users=1, epsilon=1, neighbours="user-presence")
    two = Renewed(inner=Afresh(algorithm=table, epsilon=1, horizon=1, sensitivity=1), horizon=2)
    one_epoch: Any = ([[[0]], [[]]], [[[]], [[]]])
    both: Any = ([[[0]], [[0]]], [[[]], [[]]])
    alone = worst(two, [one_epoch], modulus=5)
    assert alone < worst(two, [both], modulus=5) <= 2 * 2


# Plans --------------------------------------------------------------------------------------------


def problems(world: World) -> str:
    with pytest.raises(PlanError) as refused:
        _ = world.plan
    return str(refused.value)


def test_it_is_said_how_many_restarts_there_were() -> None:
    assert [restarting._used_up(count) for count in range(3)] == [
        "it has no restarts.",
        "its one restart is used up.",
        "its 2 restarts are used up.",
    ]


def test_restarts_are_for_states_that_may_be_seized(tmp_path: Path) -> None:
    told = problems(World(tmp_path, unit='unit = "event"\nrestarts = 1'))
    assert "privacy.restarts" in told


def test_the_plan_says_what_a_restart_costs(tmp_path: Path) -> None:
    events = " ".join(in_words(reserving(Sealed(tmp_path, TOTAL), 1).plan))
    assert "begin anew once: this costs nothing more" in events
    users = " ".join(in_words(reserving(People(tmp_path, ROOMY, USER), 2).plan))
    assert "begin anew 2 times: epsilon is divided among the 3 parts" in users


def test_a_ledger_without_the_reserved_entry_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = reserving(People(tmp_path, ROOMY), 1)
    feed(world, [])
    lose_key(world)
    monkeypatch.setattr(restarting, "reserved_name", lambda release, restart: "another")
    with pytest.raises(StoreRefused, match="no entry that paid for restart 1"):
        feed(world, [], restart="a theft")
