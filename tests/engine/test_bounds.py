"""The bounds of a user across files, runs and windows, and what the store keeps for them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.text import lines
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.pending import Pending
from ameles.store import open_store
from tests.engine.worlds import COUNT, HEADER, USER, WINDOW, World, row
from tests.stand_in import bare_store

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
ALWAYS = USER.replace("max_steps = 3", "max_steps = 8")  # nothing of a user is remembered


def parquet(world: World, name: str, rows: list[str]) -> None:
    """Another file of the same events, which one scan has whole."""
    world.write(rows)
    world.text = world.text.replace("events.csv", "*.parquet")
    with duckdb.connect() as duck:
        read = f"read_csv('{world.file}', all_varchar = true)"
        duck.execute(f"COPY (SELECT * FROM {read}) TO '{world.folder / name}.parquet'")


def seen(folder: Path) -> list[tuple[int, int, bytes]]:
    """Everything that the store keeps of users: stream, window and hash."""
    with bare_store(folder / "s.db") as bare:
        rows = bare.execute('SELECT stream, "window", "user" FROM seen').fetchall()
    return sorted((stream, window, bytes(user)) for stream, window, user in rows)


def waiting(world: World) -> Pending | None:
    """What the store keeps of events whose step is open."""
    with closing(open_store(str(world.folder / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        stored = transaction.pending(stream)
    return None if stored is None else Pending.from_bytes(stored)


class TestOneReading:
    """What is read at once may be several scans, and a user is in all of them."""

    @pytest.mark.parametrize("unit", [USER, ALWAYS, WINDOW])
    def test_a_step_has_its_bound_across_files(self, unit: str, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=unit).write([row(1, hour=h) for h in (1, 2)])
        world.text = world.text.replace("events.csv", "*.csv")
        more = [HEADER, *(row(1, hour=h) for h in (3, 4)), row(1, who="bob")]
        (tmp_path / "more.csv").write_text("\n".join(more) + "\n", encoding="utf-8")
        world.run(1)
        assert world.values("daily") == [2 + 1]

    def test_and_across_blocks_of_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lines, "BLOCK", 100)
        world = World(tmp_path, STEP, unit=USER).write([row(1, hour=h) for h in range(12)])
        world.run(1)
        assert world.values("daily") == [2]


class TestSteps:
    def test_a_run_a_step_gives_no_step_more(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([])
        for number in range(1, 6):
            world.append([row(number)]).run(number)
        assert world.values("daily") == [1, 1, 1, 0, 0]

    @pytest.mark.parametrize("runs", [(5,), (1, 2, 3, 4, 5)])
    def test_they_are_limited_where_there_is_no_horizon(
        self, runs: tuple[int, ...], tmp_path: Path
    ) -> None:
        world = World(tmp_path, STEP, unit=USER, horizon=None)
        world.write(row(number) for number in range(1, 6))
        for until in runs:
            world.run(until)
        assert world.values("daily") == [1, 1, 1, 0, 0]

    @pytest.mark.parametrize("runs", [(8,), (4, 8)])
    def test_one_step_fewer_than_the_horizon_is_a_limit(
        self, runs: tuple[int, ...], tmp_path: Path
    ) -> None:
        unit = USER.replace("max_steps = 3", "max_steps = 7")
        world = World(tmp_path, STEP, unit=unit).write(row(number) for number in range(1, 9))
        for until in runs:
            world.run(until)
        assert world.values("daily") == [1] * 7 + [0]


class TestEarlyEvents:
    """Events of steps that are still open wait as candidates."""

    def test_those_that_pass_by_count_when_their_step_closes(self, tmp_path: Path) -> None:
        """They are bounded together with what comes later, and add to no total before that."""
        world = World(tmp_path, STEP, unit=ALWAYS)
        parquet(world, "one", [row(1), row(5, who="bob"), *(row(5, hour=h) for h in (1, 2))])
        world.run(2)
        kept = waiting(world)
        assert kept is not None
        assert sorted(kept.state.arrays["times"].tolist()) == [1, 2]
        assert not any(len(total.step) for total in kept.totals.values())
        parquet(world, "two", [row(5, hour=h) for h in (3, 4)])
        world.run(8)
        assert world.values("daily") == [1, 0, 0, 0, 1 + 2, 0, 0, 0]
        assert waiting(world) is None

    @pytest.mark.parametrize("unit", [USER, ALWAYS])
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_those_of_the_last_step_too(self, kind: str, unit: str, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=unit)
        first, second = ([row(8, hour=h) for h in hours] for hours in ((1, 2), (3, 4)))
        first.append(row(8, who="bob"))
        if kind == "csv":
            world.write(first).run(7)
            world.append(second).run(8)
        else:
            parquet(world, "one", first)
            world.run(7)
            parquet(world, "two", second)
            world.run(8)
        assert world.values("daily") == [0] * 7 + [1 + 2]

    @pytest.mark.parametrize("unit", [USER, 'unit = "event"'])
    def test_nothing_waits_once_their_step_is_closed(self, unit: str, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=unit).write([row(1), row(4)])
        world.run(2)
        assert waiting(world) is not None
        world.run(4)
        assert waiting(world) is None
        world.append([row(6, who="bob")]).run(6)  # a new session
        assert world.values("daily") == [1, 0, 0, 1, 0, 1]


class TestWhatIsKeptOfUsers:
    def test_one_user_in_two_streams_is_not_the_same(self, tmp_path: Path) -> None:
        """Hashes are keyed for each stream: a list of names opens none of them."""
        for name in ("s", "t"):
            world = World(tmp_path, STEP, unit=USER, epsilon="1\ncap = 9").write([row(1)])
            world.text = world.text.replace('name = "s"', f'name = "{name}"')
            world.run(2)
        ((_, _, first), (_, _, second)) = seen(tmp_path)
        assert len(first) == len(second) == 16
        assert first != second

    def test_nor_in_two_stores(self, tmp_path: Path) -> None:
        keys = []
        for name in ("one", "two"):
            World(tmp_path / name, STEP, unit=USER).write([row(1)]).run(2)
            ((_, _, user),) = seen(tmp_path / name)
            keys.append(user)
        assert keys[0] != keys[1]

    def test_windows_that_are_over_are_forgotten(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=WINDOW).write([row(1), row(2, who="bob"), row(6)])
        world.run(3)
        assert [window for _, window, _ in seen(tmp_path)] == [0, 0]
        world.run(7)  # the window of days 5 to 8 is open
        assert [window for _, window, _ in seen(tmp_path)] == [1]
        world.run(8)
        assert seen(tmp_path) == []


@pytest.mark.parametrize("unit", [USER, WINDOW])
def test_python_and_sql_agree_on_the_window_of_a_step(unit: str, tmp_path: Path) -> None:
    bounds = ContributionBounds.of(World(tmp_path, unit=unit).plan)
    steps = range(1, 10)
    with duckdb.connect() as duck:
        asked = f"SELECT {bounds.span} FROM range(1, 10) AS t(step) ORDER BY step"
        spans = [span for (span,) in duck.execute(asked).fetchall()]
    assert [bounds.window_of(step) for step in steps] == spans
    assert spans == [(step - 1) // 4 if unit == WINDOW else 0 for step in steps]
