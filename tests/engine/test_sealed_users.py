"""Pan-private plans for users: one noisy bit each, in a table of public size, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.connectors.duck import connect
from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import BadInput, PlanError, StoreRefused
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.engine.engine import Engine
from ameles.engine.gathering.user_cells import Folding
from ameles.engine.running.registry_record import registered
from ameles.engine.sealed.sealed_state import SealedState
from ameles.engine.sealed.stream_vault import StreamVault
from ameles.engine.sealed.vault import Vault
from ameles.measures.table_choice import inner_of, table_of
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.distinct import NoisyDistinct
from ameles.noise import Zero
from ameles.plan.forecast import forecasts, in_words
from ameles.store import StreamRecord, open_store
from ameles.store.epochs import Epochs
from tests.engine.worlds import HEADER, World, row
from tests.mechanisms.continual.seizing import worst
from tests.stand_in import bare_store

DISTINCT = '[[release]]\nname = "people"\nmeasure = "distinct"\ntable = 5000\n'
# A release of each other statistic that a table can tell, in tables of different sizes.
TABLES = {
    "seen": 'measure = "density"\ntable = 3000\nusers = 300',
    "often": 'measure = "cropped_mean"\ncrop = 3\ntable = 3100\nusers = 300',
    "twice": 'measure = "heavy"\nat_least = 2\ntable = 3200\nusers = 300',
    "once": 'measure = "incidence"\nexactly = 1\ntable = 3300\nusers = 300',
}
EVERY = f"{DISTINCT}share = 0.2\n" + "".join(
    f'[[release]]\nname = "{name}"\n{said}\nshare = 0.2\n' for name, said in TABLES.items()
)
FEVER = (
    '[[release]]\nname = "ill"\nmeasure = "distinct"\ntable = 3000\nwhere = "fever"\nshare = 0.5\n'
)
USER = 'unit = "user"\nuser = "who"\nintrusions = "one"'
ANNOUNCED = USER.replace('"one"', '"announced"')
# So large that four users share no cell, but with a probability of 1.2e-5.
ROOMY = DISTINCT.replace("5000", "500000")
WINDOW = 'unit = "user-window"\nuser = "who"\nwindow = "3d"\nintrusions = "one"'


class People(World):
    """Users whose state may be seized, fed by hand."""

    def __init__(
        self, folder: Path, releases: str = DISTINCT, unit: str = USER, horizon: int | None = 8
    ) -> None:
        super().__init__(folder / "store", releases, unit=unit, horizon=horizon)
        self.text = (
            self.text.replace('source = "events.csv"', 'source = "-"')
            .replace('time = "at"\n', "")
            .replace('url = "s.db"', f'url = "s.db"\nvault = "{folder / "keys"}"')
        )

    def feed(self, *steps: Sequence[Sequence[str]], noise: Noise | None = None) -> None:
        """Folds the batches of some steps, and closes each of them."""
        with closing(open_store(str(self.folder / "s.db"))) as store:
            engine = Engine(self.plan, store, noise=noise)
            source = StandardInput("csv", self.plan.stream.columns)
            source.reading([f"{HEADER}\n".encode()])
            with engine.session() as session:
                for batches in steps:
                    for rows in batches:
                        text = "".join(f"{line}\n" for line in rows)
                        session.take(source.reading([text.encode()]), 0)
                    session.take(source.reading([]), session.stream.released + 1)

    def ones(self, release: str = "people") -> list[int]:
        """Without noise: how many bits are set, from what was published."""
        recipe: Any = self.plan.recipes[release]
        table = table_of(recipe)
        counts = []
        for value in self.values(release, ""):
            assert value is not None
            hits = (
                value if value < 0 else -table.users * np.expm1(value * np.log1p(-1 / table.users))
            )
            counts.append(round(hits * table.gamma + table.users / 2))
        return counts


def who(*names: str, fever: str = "true") -> list[str]:
    return [row(1, who=name, fever=fever) for name in names]


def test_without_noise_every_user_has_set_one_bit(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY + FEVER.replace("3000", "500000"))
    world.feed(
        [who("ada", "bob", "ada"), who("ada")],
        [who("cyn", fever="false"), [row(1, who="")]],
        [],
        [who("ada", "dan")],
        noise=Zero(),
    )
    assert world.ones() == [2, 3, 3, 4]
    assert world.ones("ill") == [2, 2, 2, 3]


def test_windows_begin_anew(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY, WINDOW, None)
    world.feed([who("ada")], [who("bob")], [], [who("ada")], [], noise=Zero())
    world.feed([who("cyn", "dan")], [], noise=Zero())
    assert world.ones() == [1, 2, 2, 1, 1, 3, 0]


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY)
    world.feed([who("ada")], noise=Zero())
    world.feed([who("ada", "bob")], noise=Zero())
    assert world.ones() == [1, 2]


def test_a_crash_between_folding_and_releasing_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = People(tmp_path, ROOMY)
    world.feed([], noise=Zero())

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedState, "_store_step", dies)
    with pytest.raises(KeyboardInterrupt):
        world.feed([who("ada", "bob")], noise=Zero())
    monkeypatch.undo()
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [0, 2, 3]
    # folded, and killed before the step was closed
    with closing(open_store(str(world.folder / "s.db"))) as store:
        source = StandardInput("csv", world.plan.stream.columns)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=Zero()).session() as session:
            session.take(source.reading([f"{who('dan')[0]}\n".encode()]), 0)
    world.feed([], noise=Zero())
    assert world.ones() == [0, 2, 3, 4]


def test_with_a_delta_long_streams_have_less_noise(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY, f"{USER}\ndelta = 1e-6", 5000)
    world.feed([who("ada", "bob")], [who("ada", "cyn")], noise=Zero())
    assert world.ones() == [2, 3]
    assert _recipe(world).variance is not None
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert ledger.spent == Approx(1, "1e-6")


def _recipe(world: World) -> Afresh:
    inner = inner_of(world.plan.recipes["people"])
    assert isinstance(inner, Afresh)
    return inner


# What is kept ---------------------------------------------------------------------------------


def test_nothing_tells_who_was_there(tmp_path: Path) -> None:
    world = People(tmp_path, EVERY)
    world.feed([who("canary-canary")] * 2, [who("canary-canary")])
    with bare_store(world.folder / "s.db") as bare:
        for table in ("pending", "seen", "position"):
            assert bare.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]
        assert bare.execute("SELECT max(length(snapshot)) FROM state").fetchall() == [(0,)]
        ((salt,),) = bare.execute("SELECT salt FROM stream").fetchall()
    stream = salt.hex().encode() + b"canary-canary"
    hashed = hashlib.sha256(stream)
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    vault, snapshots = StreamVault(world.plan, _stream(world).identity).open()
    vault.close()
    for content in (*written, *snapshots.values()):
        for canary in (b"canary", hashed.digest()[:7], hashed.hexdigest()[:14].encode()):
            assert canary not in content


def test_the_state_has_one_size_and_its_bits_are_noise(tmp_path: Path) -> None:
    sizes = set()
    for users in (0, 1, 400):
        folder = tmp_path / str(users)
        world = People(folder, EVERY)
        world.feed([who(*(f"u{i}" for i in range(users)))])
        vault, snapshots = StreamVault(world.plan, _stream(world).identity).open()
        vault.close()
        sizes.add(tuple(map(len, snapshots.values())))
        # 5,000 fair bits, of which at most 400 were drawn again; false alarm 1e-6
        ones = np.frombuffer(snapshots["people"], np.uint8)
        assert abs(np.count_nonzero(ones == 1) - 2500) < 5 * 35.4 + 200
    assert len(sizes) == 1


def test_the_promise_is_in_the_ledger_and_the_registry(tmp_path: Path) -> None:
    world = People(tmp_path, DISTINCT, WINDOW, None)
    world.feed([])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
        assert ledger is not None
        (entry,) = ledger.entries
        record = registered(transaction, "people", implementation="0")
    assert entry.guarantee.intrusions is Intrusions.ONE
    assert entry.guarantee.neighbours is Neighbours.USER_PRESENCE
    assert str(entry.guarantee.unit) == "one user within 3 steps"
    assert str(entry.paid) == "epsilon 1"
    (deployment,) = record["deployments"]
    assert deployment["intrusions"] == ["one"]


# The exact loss, through the engine's own folding -----------------------------------------------


def folded(world: World, batches: list[list[str]], stream: StreamRecord) -> list[list[int]]:
    """The cells that the engine folds, batch by batch."""
    source = StandardInput("csv", world.plan.stream.columns)
    source.reading([f"{HEADER}\n".encode()])
    batches_cells: list[list[int]] = []
    with closing(connect(zone="UTC", memory=1 << 28, readable=())) as duck:
        for rows in batches:
            reading = source.reading(["".join(f"{line}\n" for line in rows).encode()])
            cells = list(Folding(world.plan, duck, stream).cells(reading))
            batches_cells.append([int(c) for one in cells for c in one["people"]])
    return batches_cells


def _stream(world: World) -> StreamRecord:
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        stream = transaction.stream("s")
    assert stream is not None
    return stream


# A user in several batches and several times in one, among others; without the user the same
# events count nowhere.
BATCHES = [who("ada", "bob", "ada"), who("ada"), who("bob", "ada")]
WITHOUT = [[line.replace(",ada,", ",,") for line in rows] for rows in BATCHES]
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
    stream = _stream(world)
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
    stream = _stream(world)
    names = ["ada", "bob", "cyn", "dan", "é", "0"]
    cells = [batch[0] for batch in folded(world, [who(name) for name in names], stream)]
    for name, cell in zip(names, cells, strict=True):
        digest = hashlib.sha256((stream.salt.hex() + name).encode()).hexdigest()
        assert cell == int(digest[:15], 16) % 5000


# Refusals and words -----------------------------------------------------------------------------


def problems(world: World) -> str:
    with pytest.raises(PlanError) as refused:
        _ = world.plan
    return str(refused.value)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    count = '[[release]]\nname = "n"\nmeasure = "count"\n'
    bare = (
        '[[release]]\nname = "d"\nmeasure = "distinct"\nover = "step"\n'
        'by = { region = ["north", "south"] }\n'
    )
    unit = USER.replace('"one"', '"every"') + "\nmax_per_step = 1\nmax_steps = 2"
    told = problems(People(tmp_path, count + bare, unit, None))
    for text in (
        "Thm 4.3",
        "privacy.max_per_step",
        "privacy.max_steps",
        "stream.horizon",
        "Users whose state may be seized have no count.",
        "release 'd'.table",
        "release 'd'.over",
        "release 'd'.by",
    ):
        assert text in told


def test_announced_intrusions_are_paid_for_in_advance(tmp_path: Path) -> None:
    told = problems(People(tmp_path, unit=ANNOUNCED))
    assert "costs as much again" in told
    assert "privacy.restarts" in told
    words = " ".join(in_words(_announcing(tmp_path, 2).plan))
    assert "may be seized 3 times, if each time is announced before the next" in words
    assert "is lost or an intrusion announced, it can begin anew 2 times" in words
    assert "divided among the 3 parts" in words


def _announcing(folder: Path, restarts: int, releases: str = ROOMY) -> People:
    return People(folder, releases, f"{ANNOUNCED}\nrestarts = {restarts}")


def announced(world: World, *steps: list[list[str]], why: str = "a theft") -> int:
    """Announces an intrusion, and goes on in the same session."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        source = StandardInput("csv", world.plan.stream.columns)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=Zero()).session() as session:
            count = session.announce(why)
            for batches in steps:
                for rows in batches:
                    text = "".join(f"{line}\n" for line in rows)
                    session.take(source.reading([text.encode()]), 0)
                session.take(source.reading([]), session.stream.released + 1)
    return count


def test_after_an_announcement_users_are_counted_anew_and_it_says_so(tmp_path: Path) -> None:
    world = _announcing(tmp_path, 2)
    world.feed([who("ada", "bob")], [], noise=Zero())
    seen = _snapshot(world, 1)
    assert announced(world, [who("ada", "cyn", "dan")]) == 1
    assert announced(world) == 2
    world.feed([who("ada")], noise=Zero())
    assert world.ones() == [2, 2, 3, 1]
    assert [r.label for r in world.releases()] == ["", "", "restarted", "restarted"]
    assert _snapshot(world, 3) != seen
    with pytest.raises(StoreRefused, match="in epoch"):
        _snapshot(world, 1)
    with closing(open_store(str(world.folder / "s.db"))) as store:
        with store.reading() as transaction:
            stream = transaction.stream("s")
            assert stream is not None
            assert [one.why for one in transaction.intrusions(stream)] == ["a theft"] * 2
            ledger = transaction.ledger("people")
            assert ledger is not None
            assert [str(entry.paid) for entry in ledger.entries] == ["epsilon 1/3"] * 3
        with (
            Engine(world.plan, store, noise=Zero()).session() as session,
            pytest.raises(BadInput, match=r"its 2 restarts are used up"),
        ):
            session.announce("once more")
        with store.reading() as transaction:
            assert len(transaction.intrusions(stream)) == 2, "a refused one is not noted"
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [2, 2, 3, 1, 2]


def _snapshot(world: World, epoch: int) -> bytes:
    vault, snapshots = StreamVault(world.plan, _stream(world).identity, epoch).open()
    vault.close()
    return bytes(snapshots["people"])


@pytest.mark.parametrize("call", ["erase", "begin_epoch"])
def test_a_crash_while_it_begins_anew_does_not_bring_back_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    world = _announcing(tmp_path, 1)
    world.feed([who("ada", "bob")], noise=Zero())

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Vault if call == "erase" else Epochs, call, dies)
    with pytest.raises(KeyboardInterrupt):
        announced(world)
    monkeypatch.undo()
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [2, 1], "nobody who came before is in the new table"
    with pytest.raises(StoreRefused, match="in epoch"):
        _snapshot(world, 1)


def test_a_user_has_a_column(tmp_path: Path) -> None:
    told = problems(People(tmp_path, unit='unit = "user"\nintrusions = "one"'))
    assert "needs user." in told


def test_tables_are_for_states_that_may_be_seized(tmp_path: Path) -> None:
    unit = 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 1'
    assert "release 'people'.table" in problems(World(tmp_path, DISTINCT, unit=unit))


def test_nobody_announces(tmp_path: Path) -> None:
    world = People(tmp_path)
    world.feed([])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        Engine(world.plan, store).session() as session,
        pytest.raises(BadInput, match="without an announcement"),
    ):
        session.announce("a theft")


def test_the_plan_says_what_it_does(tmp_path: Path) -> None:
    plan = People(tmp_path, DISTINCT.replace("5000", "50000")).plan
    words = " ".join(in_words(plan))
    for text in ("however many", "whether a user came", "50,000 cells", "about 150,000 users"):
        assert text in words
    assert "wider than half" not in words
    (forecast,) = forecasts(plan)
    assert (forecast.mechanism, inner_of(plan.recipes["people"]).horizon) == ("Afresh", 8)
    assert "afresh at each of 8 steps" in forecast.why
    assert "compared with the table" in forecast.of
    windows = People(tmp_path, DISTINCT, WINDOW, None).plan
    assert "begins anew with every window" in forecasts(windows)[0].why
    assert "within 3d" in " ".join(in_words(windows))
    long = People(tmp_path, DISTINCT, horizon=5000).plan
    assert "changes at most" in forecasts(long)[0].why
    assert "'people' are wider than half of the table" in " ".join(in_words(long))
