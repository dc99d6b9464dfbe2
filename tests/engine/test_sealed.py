"""Pan-private plans: folded on arrival, sealed in the vault, nothing secret anywhere else."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import BadInput, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.sealed.sealed_state import SealedState
from ameles.engine.sealed.stream_vault import packed, unpacked
from ameles.engine.sealed.vault import EpochEnded
from ameles.noise import Tape, Zero
from ameles.store import open_store
from tests.engine.worlds import COUNT, EVENT, HEADER, World, row
from tests.stand_in import bare_store

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
SUM = (
    '[[release]]\nname = "paid"\nmeasure = "sum"\ncolumn = "amount"\nlower = 0\nupper = 10\n'
    'granularity = 1\nover = "2d"\n'
)


class Sealed(World):
    """A pan-private world, fed by hand."""

    def __init__(
        self,
        folder: Path,
        releases: str = COUNT + STEP,
        intrusions: str = "one",
        horizon: int = 8,
    ) -> None:
        unit = f'{EVENT}\nintrusions = "{intrusions}"'
        super().__init__(folder / "store", releases, unit=unit, horizon=horizon)
        self.text = (
            self.text.replace('source = "events.csv"', 'source = "-"')
            .replace('time = "at"\n', "")
            .replace('url = "s.db"', f'url = "s.db"\nvault = "{folder / "keys"}"')
        )

    def feed(self, *steps: list[str], fail: bool = False) -> None:
        """Folds the rows of some steps, and closes each of them."""
        with closing(open_store(str(self.folder / "s.db"))) as store:
            engine = Engine(self.plan, store, noise=Zero())
            source = StandardInput("csv", self.plan.stream.columns)
            source.reading([f"{HEADER}\n".encode()])
            with engine.session() as session:
                for rows in steps:
                    for line in rows:
                        session.take(source.reading([f"{line}\n".encode()]), 0)
                    session.take(source.reading([]), session.stream.released + 1)


def test_without_noise_it_counts(tmp_path: Path) -> None:
    world = Sealed(tmp_path, COUNT + STEP + SUM)
    world.feed([row(1), row(1, region="south")], [], [row(1, amount=7)])
    assert world.values() == [1, 1, 2]
    assert world.values("daily") == [1, 0, 1]
    assert world.values("daily", "south") == [1, 0, 0]
    assert world.values("paid", "") == [2, 2, 7]


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)], [row(1), row(1)])
    world.feed([row(1)])
    assert world.values() == [1, 3, 4]


def test_a_session_that_cannot_begin_lets_go_of_the_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)])
    with monkeypatch.context() as patched:
        patched.setattr("ameles.engine.sealed.sealed_state.overwrite_freed_memory", None)
        with pytest.raises(TypeError):
            world.feed([row(1)])
    world.feed([row(1)])
    assert world.values() == [1, 2]


@pytest.mark.parametrize("intrusions", ["one", "announced", "every"])
def test_the_mechanisms_survive_what_is_asked(tmp_path: Path, intrusions: str) -> None:
    plan = Sealed(tmp_path, COUNT, intrusions, 1000).plan
    chosen = {"one": "PanPrivatePlaceCounter", "announced": "PanPrivatePlaceCounter"}
    assert type(plan.recipes["visits"]).__name__ == chosen.get(intrusions, "SimpleTwoCounter")


def test_the_store_has_no_state(tmp_path: Path) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)] * 3)
    with bare_store(world.folder / "s.db") as bare:
        assert bare.execute("SELECT max(length(snapshot)) FROM state").fetchall() == [(0,)]
        for table in ("pending", "seen"):
            assert bare.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


def test_nothing_on_disk_tells_the_events(tmp_path: Path) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1, who="canary-canary", amount=8_675_309)])
    written = [f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()]
    assert written
    assert not any(b"canary" in content or b"8675309" in content for content in written)


def test_a_step_that_was_sealed_is_published_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)])

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedState, "_store_step", dies)
    with pytest.raises(KeyboardInterrupt):
        world.feed([row(1), row(1)])
    monkeypatch.undo()
    assert world.values() == [1]
    world.feed([row(1)])
    assert world.values() == [1, 3, 4]


def test_a_store_older_than_the_vault_is_refused(tmp_path: Path) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)])
    backup = {file: file.read_bytes() for file in world.folder.glob("s.db*")}
    world.feed([row(1)], [row(1)])
    for file in world.folder.glob("s.db*"):
        file.unlink()
    for file, content in backup.items():
        file.touch(mode=0o600)
        file.write_bytes(content)
    with pytest.raises(StoreRefused, match="vault is at step 3; the store has released 1"):
        world.feed([])


def test_a_lost_key_ends_the_epoch(tmp_path: Path) -> None:
    world = Sealed(tmp_path)
    world.feed([row(1)])
    for file in (tmp_path / "keys").rglob("key"):
        file.unlink()
    with pytest.raises(EpochEnded):
        world.feed([row(1)])
    assert world.values() == [1]


class TestAnnounced:
    def test_fresh_noise_and_wider_intervals(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path, COUNT, "announced", 1000)
        world.feed([row(1)])
        announce(world)
        world.feed([row(1)])
        first, second = (r for r in world.releases() if r.key == "north")
        assert (first.value, second.value) == (1, 2)
        assert width(second) > width(first)

    def test_the_state_that_was_seen_gives_way_to_another(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path, COUNT, "announced", 1000)
        tape = Tape(range(10**6, 10**6 + 500))

        def state() -> tuple[bytes, int]:
            with (
                closing(open_store(str(world.folder / "s.db"))) as store,
                Engine(world.plan, store, noise=tape).session() as session,
            ):
                return vars(session.state)["vault"].load().state, vars(session.state)[
                    "vault"
                ].generation

        world.feed([row(1)])
        seen, saves = state()
        with (
            closing(open_store(str(world.folder / "s.db"))) as store,
            Engine(world.plan, store, noise=tape).session() as session,
        ):
            assert isinstance(session.state, SealedState)
            session.announce("a laptop was stolen")
            runs = [run.run.snapshot() for run in session.state.runs]
        fresh, later = state()
        assert fresh != seen  # with noise that nobody has seen
        assert unpacked(fresh) == runs  # and this is what the vault has
        assert later == saves + 1

    def test_it_is_remembered(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path, COUNT, "announced", 1000)
        world.feed([row(1)])
        announce(world)
        announce(world)
        with (
            closing(open_store(str(world.folder / "s.db"))) as store,
            store.reading() as transaction,
        ):
            stream = transaction.stream("s")
            assert stream is not None
            noted = transaction.intrusions(stream)
        assert [(one.number, one.why) for one in noted] == [
            (1, "a laptop was stolen"),
            (2, "a laptop was stolen"),
        ]

    def test_a_state_that_survives_one_intrusion_hears_of_none(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path, COUNT, "one", 1000)
        world.feed([row(1)])
        with pytest.raises(BadInput, match="without an announcement"):
            announce(world)


class TestRefusals:
    def refused(self, world: World, match: str) -> None:
        with pytest.raises(PlanError, match=match):
            _ = world.plan

    def test_files_keep_their_events(self, tmp_path: Path) -> None:
        world = World(tmp_path, unit=f'{EVENT}\nintrusions = "one"')
        self.refused(world, "The source keeps raw events")

    def test_events_have_no_time_of_their_own(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path)
        world.text = world.text.replace('source = "-"', 'source = "-"\ntime = "at"')
        self.refused(world, "in the step in which they arrive")

    def test_no_event_is_late(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path)
        world.text = world.text.replace('source = "-"', 'source = "-"\ngrace = "1h"')
        self.refused(world, "closes a step when it ends")

    def test_users_cannot_be_bounded(self, tmp_path: Path) -> None:
        world = Sealed(tmp_path)
        user = 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 1'
        world.text = world.text.replace(EVENT, user)
        self.refused(world, "does not record how often a user came")

    def test_alerts_have_exact_counts(self, tmp_path: Path) -> None:
        alert = (
            '[[release]]\nname = "a"\nmeasure = "alert"\nthreshold = 5\ntimes = 1\nover = "2d"\n'
        )
        self.refused(Sealed(tmp_path, alert), "cannot be seized without loss")


def test_packed_snapshots() -> None:
    parts = [os.urandom(n) for n in (0, 1, 1000)]
    assert unpacked(packed(parts)) == parts


def announce(world: World) -> None:
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        Engine(world.plan, store, noise=Zero()).session() as session,
    ):
        session.announce("a laptop was stolen")


def width(release: Any) -> float:
    return float(release.high - release.low)
