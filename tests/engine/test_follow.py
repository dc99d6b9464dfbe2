"""Following: steps close on the public clock with what arrived before, whatever happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.following import arrivals
from ameles.engine.following.follow import follow
from ameles.noise import Zero
from ameles.plan.clock import microseconds
from ameles.store import open_store
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, World, day, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
LIMIT = 600.0  # seconds until a test gives up


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE", 0.005)
    monkeypatch.setattr(arrivals, "QUIET", 0.02)


class Live:
    """A follower in a thread, under a clock that the test sets."""

    def __init__(self, world: World, descriptor: int | None = None) -> None:
        self.world = world
        self.time = microseconds(day(1, 0))
        self.stop = threading.Event()
        self.told: list[int] = []
        self.failing: list[str] = []
        self.begun = threading.Event()
        self.problem: BaseException | None = None
        self._descriptor = descriptor
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            with open_store(str(self.world.folder / "s.db")) as store:
                engine = Engine(self.world.plan, store, noise=Zero())
                if self._descriptor is not None:
                    stream, descriptor = engine.plan.stream, self._descriptor
                    given = StandardInput(stream.format, stream.columns, descriptor)
                    vars(engine)["source"] = lambda **waiting: given
                follow(
                    engine,
                    self.stop,
                    begun=lambda report: self.begun.set(),
                    told=self.told.append,
                    failing=self.failing.append,
                    clock=lambda: self.time,
                )
        except BaseException as problem:
            self.problem = problem

    def until(self, number: int, hour: int = 0) -> None:
        """Sets the clock to an hour of a day, and waits for what is due by then."""
        self.time = microseconds(day(number, hour))
        grace = self.world.plan.stream.grace_us
        due = min(8, self.world.plan.clock.ended(self.time - grace))
        self.wait(lambda: not due or (bool(self.told) and self.told[-1] >= due))

    def wait(self, happened: Any) -> None:
        since = time.monotonic()
        while not happened():
            if self.problem is not None:
                raise self.problem
            assert time.monotonic() - since < LIMIT
            time.sleep(0.005)


@contextmanager
def following(world: World, descriptor: int | None = None) -> Iterator[Live]:
    live = Live(world, descriptor)
    live._thread.start()
    try:
        yield live
    finally:
        live.stop.set()
        live._thread.join(LIMIT)
    assert not live._thread.is_alive()
    if live.problem is not None:
        raise live.problem


class TestFiles:
    def test_a_growing_file(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        with following(world) as live:
            live.until(2)
            world.append([row(2), row(2)])
            live.until(3)
            live.until(4)
        assert world.values("daily") == [1, 2, 0]

    def test_a_stalled_source_releases_on_time(self, tmp_path: Path) -> None:
        with following(World(tmp_path, STEP).write([])) as live:
            for number in range(2, 6):
                live.until(number)
        assert live.told == [1, 2, 3, 4]

    def test_every_missed_step_is_walked(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1), row(3)])
        with following(world) as live:
            live.until(2)
            live.until(6)  # the machine slept
        assert world.values("daily") == [1, 0, 1, 0, 0]

    def test_a_clock_that_goes_back_opens_nothing_again(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        with following(world) as live:
            live.until(4)
            live.until(2)
            world.append([row(1), row(5)])
            live.until(6)
        assert world.values("daily") == [1, 0, 0, 1, 1]

    def test_grace_keeps_a_step_open(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, stream='grace = "6h"').write([row(1)])
        with following(world) as live:
            live.time = microseconds(day(2, 5))
            world.append([row(1), row(2)])
            live.until(2, hour=6)
            world.append([row(1)])  # too late for its own step
            live.until(3, hour=6)
        assert world.values("daily") == [2, 2]

    def test_a_torn_last_line_waits_for_its_newline(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        whole = row(2)
        with world.file.open("a", encoding="utf-8") as file, following(world) as live:
            file.write(whole[:-3])
            file.flush()
            live.until(3)
            file.write(whole[-3:] + "\n")
            file.flush()
            live.until(4)
        assert world.values("daily") == [1, 0, 1]

    def test_a_rotated_file_is_followed_by_a_pattern(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        world.text = world.text.replace('"events.csv"', '"events.csv*"')
        with following(world) as live:
            live.until(2)
            world.append([row(2)])
            world.file.rename(tmp_path / "events.csv.1")
            world.write([row(2), row(2)])
            live.until(3)
        assert world.values("daily") == [1, 3]

    @pytest.mark.parametrize("change", ["shrunk", "replaced"])
    def test_a_file_that_is_no_longer_itself_is_refused(self, tmp_path: Path, change: str) -> None:
        world = World(tmp_path, STEP).write([row(1), row(1)])
        with pytest.raises(StoreRefused, match=r"'events\.csv' was replaced or cut"):
            self.follow_through(world, change)
        assert world.values("daily") == [2]

    def follow_through(self, world: World, change: str) -> None:
        with following(world) as live:
            live.until(2)
            world.write([row(1)] if change == "shrunk" else [row(2), row(2), row(3)])
            live.until(3)

    def test_a_watched_folder(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP)
        world.text = world.text.replace('"events.csv"', '"in/*.csv"')
        (tmp_path / "in").mkdir()
        with following(world) as live:
            live.until(2)
            for name in "ab":
                text = "\n".join([HEADER, row(2), ""])
                (tmp_path / "in" / f"{name}.csv").write_text(text, encoding="utf-8")
            live.until(3)
        assert world.values("daily") == [0, 2]

    def test_it_ends_at_the_horizon_and_resumes_where_it_was(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([row(1), row(2)])
        with following(world) as live:
            live.until(3)
        world.append([row(3), row(4)])
        with following(world) as again:
            again.until(12)
            again.wait(lambda: not again._thread.is_alive())
        assert live.told[-1] == 2
        assert world.values("daily") == [1, 1, 1, 0, 0, 0, 0, 0]


class TestStandardInput:
    @pytest.fixture
    def pipe(self) -> Iterator[tuple[int, int]]:
        read, write = os.pipe()
        yield read, write
        for end in (read, write):
            with suppress(OSError):  # the test may have closed it
                os.close(end)

    def world(self, folder: Path, *, timed: bool = True, unit: str = EVENT) -> World:
        world = World(folder, STEP, unit=unit)
        world.text = world.text.replace('source = "events.csv"', 'source = "-"')
        if not timed:
            world.text = world.text.replace('time = "at"\n', "")
        return world

    @pytest.fixture(autouse=True)
    def counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Notes how many bytes the follower has taken care of."""
        self.taken, self.said = 0, 0
        known = arrivals.Arrivals.counted

        def noted(these: arrivals.Arrivals[bytes], size: int) -> None:
            known(these, size)
            self.taken += size

        monkeypatch.setattr(arrivals.Arrivals, "counted", noted)

    def say(self, live: Live, pipe: int, *rows: str) -> None:
        """Writes rows and waits until they are durable."""
        self.said += os.write(pipe, "".join(f"{line}\n" for line in rows).encode())
        live.wait(lambda: self.taken == self.said)

    def test_rows_count_in_their_own_steps(self, tmp_path: Path, pipe: tuple[int, int]) -> None:
        world = self.world(tmp_path)
        with following(world, pipe[0]) as live:
            self.say(live, pipe[1], HEADER, row(1), row(2))
            live.until(2)
            self.say(live, pipe[1], row(1), row(2))
            live.until(3)
        assert world.values("daily") == [1, 3]

    def test_rows_without_a_time_count_when_they_arrive(
        self, tmp_path: Path, pipe: tuple[int, int]
    ) -> None:
        world = self.world(tmp_path, timed=False)
        with following(world, pipe[0]) as live:
            self.say(live, pipe[1], HEADER, row(5))
            live.until(2)
            self.say(live, pipe[1], row(1), row(1))
            live.until(3)
            live.until(4)
        assert world.values("daily") == [1, 2, 0]

    def test_users_are_bounded_across_batches(self, tmp_path: Path, pipe: tuple[int, int]) -> None:
        world = self.world(tmp_path, unit=USER)
        with following(world, pipe[0]) as live:
            self.say(live, pipe[1], HEADER, row(1, hour=1), row(1, hour=2))
            self.say(live, pipe[1], row(1, hour=3), row(1, who="bob"))
            live.until(2)
        assert world.values("daily") == [3]

    def test_the_end_of_the_input_ends_nothing(self, tmp_path: Path, pipe: tuple[int, int]) -> None:
        world = self.world(tmp_path)
        with following(world, pipe[0]) as live:
            self.say(live, pipe[1], HEADER, row(1))
            os.close(pipe[1])
            live.until(2)
            live.until(4)
        assert world.values("daily") == [1, 0, 0]

    def test_json_lines(self, tmp_path: Path, pipe: tuple[int, int]) -> None:
        world = self.world(tmp_path)
        world.text = world.text.replace('source = "-"', 'source = "-"\nformat = "jsonl"')
        with following(world, pipe[0]) as live:
            self.say(live, pipe[1], '{"at": "2026-01-01T03:00:00Z", "region": "north"}', "{broken")
            live.until(2)
        assert world.values("daily") == [1]
