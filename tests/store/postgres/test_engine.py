"""The engine on both stores: one tape, the same releases (I14), and a server that goes away."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.noise import Noise, Shape
from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from ameles.store import Store, open_store
from tests.engine.worlds import COUNT, EVENT, USER, WINDOW, World, day, row
from tests.postgres import Server
from tests.store.places import Place, PostgresPlace, SqlitePlace
from tests.store.postgres.test_session import end_all

MEASURES = """
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "south"] }
[[release]]
name = "daily"
measure = "count"
over = "step"
[[release]]
name = "amounts"
measure = "sum"
column = "amount"
lower = -5
upper = 5
granularity = 1
over = "3d"
[[release]]
name = "ages"
measure = "histogram"
column = "age"
edges = [0, 18, 65, 120]
[[release]]
name = "middle"
measure = "quantile"
column = "age"
edges = [0, 18, 40, 65, 120]
q = 0.5
[[release]]
name = "busiest"
measure = "top"
k = 1
by = { region = ["north", "south"] }
[[release]]
name = "mean"
measure = "mean"
column = "amount"
lower = 0
upper = 5
granularity = 1
"""
ALERT = '[[release]]\nname = "alert"\nmeasure = "alert"\nthreshold = 2\ntimes = 2\nover = "step"\n'
PEOPLE = '[[release]]\nname = "people"\nmeasure = "distinct"\n'
ROWS = [
    row(1 + 3 * n % 8, who=f"u{n % 5}", region=("north", "south")[n % 2], age=n % 90, amount=n % 4)
    for n in range(80)
]
LATE = [row(2, who="late"), row(7, who="u1"), row(8, who="new"), "not,a,row", ""]


@contextmanager
def opened(place: Place) -> Iterator[Store]:
    with closing(open_store(place.url)) as store:
        yield store


def run(world: World, place: Place, until: int, noise: Noise, batch: int = 5) -> None:
    with opened(place) as store:
        Engine(world.plan, store, noise=noise, batch=batch).run(day(until + 1, 0))


def released(place: Place) -> list[Release]:
    with opened(place) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        return list(transaction.releases(stream))


def secrets(place: Place) -> list[object]:
    """All else that the runs have left in the store, but for what names one run."""
    with opened(place) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        ledger = transaction.ledger("people")
        assert ledger is not None
        entries = [(e.number, e.on, e.asked, e.paid, e.recipe) for e in ledger.entries]
        seen = sorted(transaction._session.rows('SELECT "window", steps, marks FROM seen'))
        return [
            (stream.released, stream.scheduled, stream.plan, transaction.pending(stream)),
            transaction.series(stream),
            (ledger.cap, ledger.spent, entries),
            seen,
        ]


def whole(world: World, place: Place, tape: Tape) -> None:
    """Runs of all kinds: the first, one with nothing new, one with late rows, the last."""
    world.write(ROWS)
    for until in (3, 3, 6):
        run(world, place, until, tape)
    world.append(LATE)
    run(world, place, 8, tape)


@pytest.fixture
def salted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same salt for both stores, which decides what is kept of a user."""
    monkeypatch.setattr(
        "ameles.engine.running.launch.os",
        SimpleNamespace(urandom=lambda count: bytes(range(count))),
    )


@pytest.mark.parametrize(
    ("unit", "releases"),
    [(EVENT, MEASURES + ALERT), (USER, MEASURES + ALERT + PEOPLE), (WINDOW, COUNT + PEOPLE)],
    ids=["event", "user", "window"],
)
@pytest.mark.usefixtures("salted")
def test_one_tape_gives_one_history(
    tmp_path: Path, schema: PostgresPlace, unit: str, releases: str
) -> None:
    file, recording = SqlitePlace(tmp_path), Tape(beyond=System())
    whole(World(tmp_path / "file", releases, unit=unit), file, recording)
    assert any(draw.value for draw in recording.draws)
    played = Tape(recording.values)
    whole(World(tmp_path / "server", releases, unit=unit), schema, played)
    assert played.draws == recording.draws
    first, second = released(file), released(schema)
    assert second == first
    assert len(first) > 20
    for one, other in zip(first, second, strict=True):  # 1 == 1.0, and is not the same
        assert type(one.value) is type(other.value)
        assert (type(one.low), type(one.high)) == (type(other.low), type(other.high))
    assert [repr(row) for row in secrets(schema)] == [repr(row) for row in secrets(file)]


def test_another_tape_is_another_history(tmp_path: Path, schema: PostgresPlace) -> None:
    # what the comparison would see
    file = SqlitePlace(tmp_path)
    whole(World(tmp_path / "file"), file, Tape())
    whole(World(tmp_path / "server"), schema, Tape.impulse(5))
    assert released(schema) != released(file)


class Cutting(Zero):
    """No noise; at the n-th draw, inside a transaction, all connections are ended."""

    genuine: ClassVar[bool] = False

    def __init__(self, server: Server, at: int) -> None:
        self._server = server
        self._left = at

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        self._left -= 1
        if self._left == 0:
            end_all(self._server)
        return super().laplace(scale, size)


def truth(folder: Path, rows: Sequence[str]) -> list[Release]:
    place = SqlitePlace(folder)
    run(World(folder / "truth").write(rows), place, 8, Zero())
    return released(place)


def test_connections_cut_in_mid_transaction_lose_and_double_nothing(
    tmp_path: Path, postgres: Server
) -> None:
    expected = truth(tmp_path, ROWS)
    cut = 0
    for at in range(1, 30):
        place = PostgresPlace(postgres)
        world = World(tmp_path / str(at)).write(ROWS)
        try:
            run(world, place, 8, Cutting(postgres, at), batch=1)
        except StoreRefused:
            cut += 1
            before = released(place) if launched(place) else []
            assert before == expected[: len(before)]
            run(world, place, 8, Zero(), batch=1)
        else:
            break
        assert released(place) == expected
    assert cut >= 3


def launched(place: Place) -> bool:
    with opened(place) as store, store.reading() as transaction:
        return transaction.stream("s") is not None


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_restarted_between_runs_and_under_an_open_store(
    tmp_path: Path, postgres: Server, schema: PostgresPlace, how: signal.Signals
) -> None:
    world = World(tmp_path / "server").write(ROWS)
    with opened(schema) as store:
        for until in (2, 5, 8):
            Engine(world.plan, store, noise=Zero()).run(day(until + 1, 0))
            postgres.restart(how)
    assert released(schema) == truth(tmp_path, ROWS)


def test_two_engines_on_one_stream_are_not_both_run(tmp_path: Path, schema: PostgresPlace) -> None:
    world = World(tmp_path).write(ROWS)
    with opened(schema) as store, store.holding("s"):
        with pytest.raises(StoreRefused, match="is run by another process"):
            run(world, schema, 8, Zero())
        assert not launched(schema)
