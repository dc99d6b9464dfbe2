"""Arrivals: rows and instants in one order, whatever the clock and the threads do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Self

import pytest

from ameles.connectors.reading import Reading
from ameles.connectors.source import AnySource, SeekableSource, SourceRequest
from ameles.connectors.standard_input import StandardInput
from ameles.engine.following import arrivals
from ameles.engine.following.arrivals import Arrivals, Away, Came, Ended, Idle
from ameles.plan.clock import Clock
from ameles.plan.durations import SECOND, Duration

LIMIT = 600.0  # seconds until a test gives up
CLOCK = Clock(start=datetime(2026, 1, 1, tzinfo=UTC), every=Duration.read("1m"), zone="UTC")
MINUTE = 60 * SECOND


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE", 0.002)
    monkeypatch.setattr(arrivals, "QUIET", 0.01)


class Growing(SeekableSource[dict[str, int]]):
    """A file whose size the test sets."""

    def __init__(self) -> None:
        self.size = 0
        self.fails: BaseException | None = None

    def names(self) -> tuple[str, ...]:
        return ()

    def ends(self) -> dict[str, int]:
        if self.fails is not None:
            raise self.fails
        return {"file": self.size}

    @classmethod
    def claims(cls, text: str) -> bool:
        raise NotImplementedError

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        raise NotImplementedError

    def at_launch(self) -> str:
        raise NotImplementedError

    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> Reading:
        raise NotImplementedError


class Piped(StandardInput):
    """Standard input whose pieces the test gives, one at a time."""

    def __init__(self) -> None:
        super().__init__("jsonl", {"region": "text"})
        self._next = threading.Condition()
        self._given: list[bytes | BaseException | None] = []
        self.taken = 0

    def give(self, piece: bytes | BaseException | None) -> None:
        """A piece, an error, or None for the end."""
        with self._next:
            self._given.append(piece)
            self._next.notify()

    def incoming(self) -> Iterator[bytes]:
        while True:
            with self._next:
                assert self._next.wait_for(lambda: len(self._given) > self.taken, LIMIT)
                piece = self._given[self.taken]
                self.taken += 1
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece


class Watched:
    """Arrivals under a clock that the test sets; what has happened is asked for."""

    def __init__(self, source: AnySource, **options: Any) -> None:
        self.source = source
        self.at = CLOCK.first
        self.stop = threading.Event()
        given = {"released": 0, "horizon": None, **options}
        self.arrivals = Arrivals(CLOCK, source, self.stop, now=lambda: self.at, **given)
        self._happened = iter(self.arrivals)

    def minutes(self, count: float) -> None:
        """Sets the clock to so many minutes after the start."""
        self.at = CLOCK.first + int(count * MINUTE)

    def next(self) -> Ended | Away | Came[bytes] | None:
        """What happens next; None: nothing does any more."""
        since = time.monotonic()
        for arrival in self._happened:
            if not isinstance(arrival, Idle):
                return arrival
            assert time.monotonic() - since < LIMIT
        return None

    def quiet(self) -> bool:
        """Whether nothing has happened for a while."""
        return all(isinstance(next(self._happened), Idle) for _ in range(3))


@pytest.fixture
def files() -> Iterator[Watched]:
    watched = Watched(Growing())
    yield watched
    watched.stop.set()


@pytest.fixture
def piped() -> Iterator[Watched]:
    watched = Watched(Piped())
    yield watched
    watched.stop.set()
    assert isinstance(watched.source, Piped)
    watched.source.give(None)


def grow(watched: Watched, size: int) -> None:
    assert isinstance(watched.source, Growing)
    watched.source.size = size


def give(watched: Watched, piece: bytes | BaseException | None) -> None:
    assert isinstance(watched.source, Piped)
    watched.source.give(piece)


class TestInstants:
    def test_a_step_ends_with_how_far_the_files_went_just_then(self, files: Watched) -> None:
        assert files.quiet()
        grow(files, 10)
        files.minutes(1)
        assert files.next() == Ended(1, {"file": 10})
        grow(files, 25)
        assert files.quiet()
        files.minutes(2.5)
        assert files.next() == Ended(2, {"file": 25})

    def test_a_busy_reader_changes_nothing(self, files: Watched) -> None:
        assert files.quiet()
        for step, size in enumerate((10, 20, 30), start=1):  # nobody asks meanwhile
            grow(files, size)
            files.minutes(step)
            wait_for(files, step)
        ends = [files.next() for _ in range(3)]
        assert ends == [Ended(n, {"file": 10 * n}) for n in (1, 2, 3)]

    def test_a_jump_forward_ends_every_missed_step_at_once(self, files: Watched) -> None:
        files.minutes(1)
        assert files.next() == Ended(1, {"file": 0})
        files.minutes(60 * 24 + 0.5)  # a night in a bag
        assert files.next() == Ended(60 * 24, {"file": 0})
        assert files.quiet()

    def test_a_jump_back_ends_nothing_twice(self, files: Watched) -> None:
        files.minutes(5)
        assert files.next() == Ended(5, {"file": 0})
        files.minutes(2)
        assert files.quiet()
        files.minutes(5.9)
        assert files.quiet()
        files.minutes(6)
        assert files.next() == Ended(6, {"file": 0})

    def test_steps_that_were_released_before_are_not_told_again(self) -> None:
        watched = Watched(Growing(), released=3)
        watched.minutes(3.5)
        assert watched.quiet()
        watched.minutes(4)
        assert watched.next() == Ended(4, {"file": 0})
        watched.stop.set()

    def test_before_the_start_nothing_ends(self, files: Watched) -> None:
        files.minutes(-100)
        assert files.quiet()

    def test_grace_moves_the_instant(self) -> None:
        watched = Watched(Growing(), grace=30 * SECOND)
        watched.minutes(1.4)
        assert watched.quiet()
        watched.minutes(1.5)
        assert watched.next() == Ended(1, {"file": 0})
        watched.stop.set()

    def test_the_horizon_is_the_end(self) -> None:
        watched = Watched(Growing(), horizon=3)
        watched.minutes(100)
        assert watched.next() == Ended(3, {"file": 0})
        assert watched.next() is None
        assert Watched(Growing(), released=3, horizon=3).next() is None

    def test_a_stop_ends_it_after_what_has_happened(self, files: Watched) -> None:
        assert files.quiet()
        files.minutes(1)
        wait_for(files, 1)
        files.stop.set()
        assert files.next() == Ended(1, {"file": 0})
        assert files.next() is None


class TestRows:
    def test_rows_and_instants_are_in_the_order_in_which_they_came(self, piped: Watched) -> None:
        assert piped.quiet()
        expected: list[Ended | Came[bytes]] = []
        for step in range(1, 6):
            piece = b"%d\n" % step
            give(piped, piece)
            expected.append(Came(piped.at, piece))
            taken(piped, step)
            piped.minutes(step)
            wait_for(piped, step)
            expected.append(Ended(step, None))
        assert [piped.next() for _ in expected] == expected

    def test_a_row_after_an_instant_is_behind_it_even_if_nobody_looked(
        self, piped: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The thread that watches the clock may oversleep; the one that reads rows looks, too."""
        monkeypatch.setattr(arrivals, "PATIENCE", LIMIT)
        assert piped.quiet()
        give(piped, b"before\n")
        assert piped.next() == Came(CLOCK.first, b"before\n")
        piped.minutes(20_000)
        give(piped, b"after\n")
        assert piped.next() == Ended(20_000, None)
        assert piped.next() == Came(piped.at, b"after\n")

    def test_the_end_of_the_input_is_an_empty_piece_and_no_end(self, piped: Watched) -> None:
        give(piped, b"last\n")
        give(piped, None)
        assert piped.next() == Came(piped.at, b"last\n")
        assert piped.next() == Came(piped.at, None)
        piped.minutes(1)
        assert piped.next() == Ended(1, None)

    def test_what_was_read_before_a_stop_comes_before_the_end(self, piped: Watched) -> None:
        assert piped.quiet()
        give(piped, b"row\n")
        taken(piped, 1)
        piped.stop.set()
        assert piped.next() == Came(piped.at, b"row\n")
        assert piped.next() is None

    def test_after_a_stop_nothing_more_is_read(self, piped: Watched) -> None:
        assert piped.quiet()
        piped.stop.set()
        for _ in range(3):
            give(piped, b"row\n")
        while piped.next() is not None:
            pass
        time.sleep(0.05)
        assert isinstance(piped.source, Piped)
        assert piped.source.taken <= 1

    def test_reading_waits_for_counting(
        self, piped: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(arrivals, "BACKLOG", 8)
        assert isinstance(piped.source, Piped)
        for _ in range(6):
            give(piped, b"row\n")
        assert piped.next() == Came(piped.at, b"row\n")
        assert piped.next() == Came(piped.at, b"row\n")
        assert piped.quiet()
        assert piped.source.taken == 2, "eight bytes are read and not counted"
        piped.minutes(1)
        assert piped.next() == Ended(1, None), "the clock goes on"
        piped.arrivals.counted(4)
        assert piped.next() == Came(piped.at, b"row\n")
        assert piped.quiet()
        piped.arrivals.counted(8)
        assert [piped.next() for _ in range(2)] == [Came(piped.at, b"row\n")] * 2


class Broken(Exception):
    """Something that a thread stumbles over."""


class TestErrors:
    def test_of_the_clock_reach_the_caller(self, files: Watched) -> None:
        assert isinstance(files.source, Growing)
        assert files.quiet()
        files.source.fails = Broken("watching")
        files.minutes(1)
        with pytest.raises(Broken, match="watching"):
            files.next()

    def test_of_the_input_reach_the_caller(self, piped: Watched) -> None:
        give(piped, b"row\n")
        give(piped, Broken("reading"))
        assert piped.next() == Came(piped.at, b"row\n")
        with pytest.raises(Broken, match="reading"):
            piped.next()

    def test_a_closed_descriptor_reaches_the_caller(self) -> None:
        read, write = os.pipe()
        os.close(read)
        os.close(write)
        watched = Watched(StandardInput("jsonl", {"region": "text"}, read))
        with pytest.raises(OSError, match="Bad file descriptor"):
            watched.next()
        watched.stop.set()

    def test_values_are_not_in_what_is_shown(self) -> None:
        came, ended = Came(1, b"canary"), Ended(3, {"file": 8675309})
        assert "canary" not in repr(came)
        assert "8675309" not in repr(ended)


def wait_for(watched: Watched, step: int) -> None:
    """Until the watching thread has seen a step end, without asking for it."""
    since = time.monotonic()
    while vars(watched.arrivals)["_last"] < step:
        assert time.monotonic() - since < LIMIT
        time.sleep(0.001)


def taken(watched: Watched, count: int) -> None:
    """Until so many pieces have gone into the queue."""
    assert isinstance(watched.source, Piped)
    since = time.monotonic()
    wanted = sum(len(piece) for piece in given(watched.source)[:count])
    while vars(watched.arrivals)["_backlog"] < wanted:
        assert time.monotonic() - since < LIMIT
        time.sleep(0.001)


def given(source: Piped) -> list[bytes]:
    return [piece for piece in vars(source)["_given"] if isinstance(piece, bytes)]
