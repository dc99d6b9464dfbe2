"""A run that dies anywhere, then another: nothing is lost, doubled, or published twice differently.

The noise is a multiple of a million, never the same twice: what is left of a value modulo a million
is the truth, and a value that was drawn again would be another.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest

from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.own_folder import OwnFolder
from ameles.connectors.sink_notes import Notes
from ameles.core.noise import Shape
from ameles.noise import Zero
from ameles.noise.arrays import IntArray
from ameles.store import StreamRecord, Transaction, open_store
from ameles.store.postgres.session import PostgresSession
from ameles.store.sqlite.session import SqliteSession
from ameles.store.stored_ledger import StoredLedger
from tests.engine.worlds import COUNT, USER, World, row

MILLION = 1_000_000
WHOLE = 720_720 * MILLION  # also its parts up to the sixteenth are millions
STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
PEOPLE = '[[release]]\nname = "people"\nmeasure = "distinct"\n'
SINK = '[[sink]]\ncsv = "out.csv"\n'
# Some users are beyond their bounds, others have only one event.
ROWS = [row(1 + n % 8, who=f"u{n % 7}", hour=n % 24) for n in range(40)]
ROWS += [row(6, who=f"w{n}") for n in range(3)]
NOWHERE = 10**9  # there are not so many places
MORE = [row(7 + n % 2, who=f"v{n}") for n in range(4)]


# Where something is written: each change of a transaction, its end, and a sink's note.
CHANGES = (
    *("open_population", "add_stream", "advance", "set_position", "set_sent", "add_series"),
    *("add_steps", "add_releases", "set_state", "set_pending", "set_seen", "forget_seen"),
)
WRITES: list[tuple[Any, str]] = [
    *((Transaction, name) for name in CHANGES),
    *((StoredLedger, "_record"), (SqliteSession, "commit")),
    *((PostgresSession, "commit"), (OwnFolder, "replace"), (Notes, "write")),
]


class Marked(Zero):
    """Passes for the operating system's noise."""

    genuine: ClassVar[bool] = True

    def __init__(self) -> None:
        self.drawn = 0

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        shape = super().laplace(scale, size)
        self.drawn += shape.size
        drawn = np.arange(self.drawn - shape.size, self.drawn, dtype=np.int64) + 1
        return drawn.reshape(shape.shape) * WHOLE


class Died(BaseException):
    """As if the process had been killed."""


@contextmanager
def dying(at: int) -> Iterator[None]:
    """Dies at the n-th place where something is written, before, amid or after it."""
    places = 0

    def place() -> None:
        nonlocal places
        places += 1
        if places == at:
            raise Died

    def around(function: Any, *, after: bool) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            place()
            done = function(*given, **named)
            if after:
                place()
            return done

        return called

    write = AppendedSink._written

    def torn(self: AppendedSink, file: Any, rows: Any) -> tuple[int, str]:
        offset, tail = write(self, file, rows)
        if places + 1 == at:
            file.truncate(offset - 7)
        place()
        return offset, tail

    with ExitStack() as patched:
        for kind, name in WRITES:
            whole = around(getattr(kind, name), after=name in ("commit", "replace", "write"))
            patched.enter_context(mock.patch.object(kind, name, whole))
        patched.enter_context(mock.patch.object(AppendedSink, "_written", torn))
        yield


def world_in(folder: Path) -> World:
    return World(folder, COUNT + STEP + PEOPLE, unit=USER, rest=SINK).write(ROWS)


def published(world: World) -> list[list[str]]:
    file = world.folder / "out.csv"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return list(csv.reader(text.splitlines()))


def kept(world: World) -> list[Any]:
    """What the store has released, if it was launched."""
    try:
        return world.releases()
    except AssertionError:
        return []


def faults(folder: Path, truth: dict[str, list[Any]], at: int) -> tuple[list[str], bool]:
    """What is wrong after a death at some place and another run; whether there was such a place."""
    world, noise = world_in(folder), Marked()
    died = False
    with dying(at):
        try:
            world.run(6, noise=noise, batch=40)  # four steps in each transaction
        except Died:
            died = True
    before, told = kept(world), published(world)
    world.append(MORE).run(8, noise=noise)
    after, sent = world.releases(), published(world)
    wrong = []
    if after[: len(before)] != before:
        wrong.append("the store has other values")
    if sent[: len(told[:-1])] != told[:-1]:  # the last line may be torn
        wrong.append("the sink had other values")
    if [line[6] for line in sent[1:]] != [str(release.value) for release in after]:
        wrong.append("the sink is not what the store has")
    for name, values in truth.items():
        if [int(r.value or 0) % MILLION for r in after if r.release == name] != values:
            wrong.append(f"{name} is not the truth")
    if spent(world) != (3, "epsilon 1"):
        wrong.append("the budget was not spent once")
    return wrong, died


def spent(world: World) -> tuple[int, str]:
    """Entries of the ledger, and their sum."""
    with open_store(str(world.folder / "s.db")) as store, store.reading() as transaction:
        ledger = transaction.ledger("people")
        assert ledger is not None
        return len(ledger.entries), str(ledger.spent)


def true_values(folder: Path) -> dict[str, list[Any]]:
    """The same two runs without noise and without a death."""
    world = World(folder, COUNT + STEP + PEOPLE, unit=USER).write(ROWS)
    world.run(6)
    world.append(MORE).run(8)
    values: dict[str, list[Any]] = {}
    for release in world.releases():
        values.setdefault(release.release, []).append(release.value)
    return values


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return true_values(tmp_path_factory.mktemp("truth"))


def test_a_death_at_every_place(tmp_path: Path, truth: dict[str, list[Any]]) -> None:
    assert truth["people"][-1] == 14
    at, died = 0, True
    while died:
        at += 1
        wrong, died = faults(tmp_path / str(at), truth, at)
        assert wrong == [], f"died at place {at}"
    assert at > 40


class TestBrokenEngines:
    """Each dies where it is wrong, once."""

    def test_a_position_in_a_transaction_of_its_own_loses_events(
        self, tmp_path: Path, truth: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put = Transaction.set_position
        died: list[Any] = []

        def early(self: Transaction, stream: StreamRecord, position: str) -> None:
            launched = self.position(stream) is not None  # with what was there, and not read
            put(self, stream, position)
            if launched and not died:
                self._session.write("COMMIT")
                died.append(True)
                raise Died

        monkeypatch.setattr(Transaction, "set_position", early)
        assert "visits is not the truth" in faults(tmp_path, truth, NOWHERE)[0]

    def test_a_position_that_comes_after_the_releases_doubles_events(
        self, tmp_path: Path, truth: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put, sent = Transaction.set_position, Transaction.set_sent
        died: list[Any] = []

        def forgotten(*given: Any) -> None:
            if died:
                put(*given)

        def after_the_commit(*given: Any) -> None:
            if not died:
                died.append(True)
                raise Died
            sent(*given)

        monkeypatch.setattr(Transaction, "set_position", forgotten)
        monkeypatch.setattr(Transaction, "set_sent", after_the_commit)
        assert "visits is not the truth" in faults(tmp_path, truth, NOWHERE)[0]
