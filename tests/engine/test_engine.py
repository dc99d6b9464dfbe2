"""The straight line: what is released, when, and that running again changes nothing."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import BudgetExceeded, PlanError, SourceUnreadable, StoreRefused
from ameles.engine.engine import Engine
from ameles.store import open_store
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, WINDOW, World, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
SINK = '[[sink]]\ncsv = "out.csv"\n'


def test_running_totals_and_steps_without_noise(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + STEP).write([row(1), row(1), row(3), row(2, region="south")])
    report = world.run(4)
    assert (report.launched, report.released, report.new, report.horizon) == (True, 4, 4, 8)
    assert world.values() == [2, 2, 3, 3]
    assert world.values("daily") == [2, 0, 1, 0]
    assert world.values("daily", "south") == [0, 1, 0, 0]


def test_a_run_ends_at_its_cut_off_and_never_at_the_last_event(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)])
    assert [world.run(until).released for until in (2, 2, 5, 30)] == [2, 2, 5, 8]
    assert world.values() == [1] * 8


def test_rows_after_the_cut_off_wait(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + STEP).write([row(5), row(1)])
    world.run(2)
    assert world.values("daily") == [1, 0]
    world.run(6)
    assert world.values("daily") == [1, 0, 0, 0, 1, 0]


def test_running_again_gives_the_same_numbers_and_costs_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + STEP, rest=SINK).write([row(1), row(2)])
    world.earnest(3)
    first, published = world.releases(), (tmp_path / "out.csv").read_bytes()
    again = world.earnest(3)
    assert (again.launched, again.new) == (False, 0)
    assert world.releases() == first
    assert (tmp_path / "out.csv").read_bytes() == published
    world.earnest(8)
    assert world.releases()[: len(first)] == first
    assert (tmp_path / "out.csv").read_bytes().startswith(published)


def test_a_stream_without_a_horizon(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + STEP, horizon=None).write([row(2), row(40), row(20_000)])
    world.run(3)
    world.run(1)  # an earlier cut-off takes nothing back, and loses nothing
    world.run(41)
    assert world.values()[-3:] == [1, 2, 2]
    assert sum(value or 0 for value in world.values("daily")) == 2


@pytest.mark.parametrize("batch", [1, 7, 1 << 21])
@pytest.mark.parametrize("unit", [EVENT, USER, WINDOW])
def test_batches_do_not_change_what_is_released(tmp_path: Path, batch: int, unit: str) -> None:
    rows = [row(n, who=f"u{n % 3}") for n in (1, 2, 2, 2, 3, 4, 5, 6, 7, 8)]
    whole = World(tmp_path / "whole", COUNT + STEP, unit=unit).write(rows)
    whole.run(8)
    parts = World(tmp_path / "parts", COUNT + STEP, unit=unit).write(rows)
    parts.run(8, batch=batch)
    assert parts.releases() == whole.releases()


def test_standard_input_has_all_steps_up_to_the_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that are far ahead of what was released before."""
    monkeypatch.setattr("ameles.engine.running.stored_state.FAR", 3)
    text = "\n".join([HEADER, row(1), row(9), row(13), row(14), row(40)]) + "\n"
    monkeypatch.setattr(StandardInput, "incoming", lambda self: iter([text.encode()]))
    world = World(tmp_path, horizon=None)
    world.text = world.text.replace('"events.csv"', '"-"')
    world.run(10)
    monkeypatch.setattr(StandardInput, "incoming", lambda self: iter([]))
    world.run(20)
    assert world.values()[-1] == 3  # up to three steps after the cut-off rows are kept


class TestLate:
    def test_next_joins_the_open_step(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        world.run(3)
        world.append([row(1), row(2), row(5)]).run(5)
        assert world.values("daily") == [1, 0, 0, 2, 1]

    def test_drop_counts_nowhere(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, stream='late = "drop"').write([row(1)])
        world.run(3)
        world.append([row(1), row(2), row(5)]).run(5)
        assert world.values("daily") == [1, 0, 0, 0, 1]

    def test_after_the_horizon_nothing_is_open(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(1)])
        world.run(8)
        before = world.releases()
        world.append([row(1), row(9)]).run(20)
        assert world.releases() == before

    def test_before_the_start_is_no_step(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP).write([row(0), row(-5), row(1)])
        world.run(2)
        assert world.values("daily") == [1, 0]


class TestBounds:
    def test_events_of_a_user_in_a_step(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([row(1), row(1), row(1), row(1, who="bob")])
        world.run(1)
        assert world.values("daily") == [3]

    def test_first_steps_of_a_user(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write(row(n) for n in (7, 1, 3, 5, 8))
        world.run(8)
        assert world.values("daily") == [1, 0, 1, 0, 1, 0, 0, 0]

    def test_first_steps_across_runs_and_with_late_events(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([row(1), row(2)])
        world.run(3)
        # late: joins step 4, the third and last of this user
        world.append([row(1), row(6), row(6, who="bob")]).run(8)
        assert world.values("daily") == [1, 1, 0, 1, 0, 1, 0, 0]

    def test_candidates_wait_across_runs(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([row(1), row(4), row(4, hour=1)])
        world.run(2)
        world.append([row(4, hour=h) for h in (2, 3)]).run(5)
        assert world.values("daily") == [1, 0, 0, 2, 0]

    def test_a_window_of_time_begins_anew(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=WINDOW).write(row(n) for n in range(1, 9))
        world.run(3)
        world.run(5)
        world.run(8)
        assert world.values("daily") == [1, 1, 0, 0, 1, 1, 0, 0]

    def test_bounds_go_before_conditions_and_across_keys(self, tmp_path: Path) -> None:
        feverish = STEP + 'where = "fever"\n'
        rows = [row(n, fever="false", region="south") for n in (1, 2, 3)] + [row(4)]
        world = World(tmp_path, feverish, unit=USER).write(rows)
        world.run(8)
        assert world.values("daily") == [0] * 8  # the three steps were used up

    def test_events_without_a_user_are_dropped(self, tmp_path: Path) -> None:
        world = World(tmp_path, STEP, unit=USER).write([row(1, who=""), row(1, who="bob")])
        world.run(1)
        assert world.values("daily") == [1]

    @pytest.mark.parametrize("passes", [1, 2, 7])
    def test_shares_of_users_add_up(
        self, tmp_path: Path, passes: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = [row(1 + n % 8, who=f"u{n % 23}", hour=n % 24) for n in range(400)]
        whole = World(tmp_path / "whole", COUNT + STEP, unit=USER).write(rows)
        whole.run(8)
        monkeypatch.setattr("ameles.engine.gathering.gatherer.ROWS_AT_ONCE", 400 // passes)
        parts = World(tmp_path / "parts", COUNT + STEP, unit=USER).write(rows)
        parts.run(4)
        parts.run(8)
        assert parts.values() == whole.values()
        assert parts.values("daily") == whole.values("daily")


class TestRefusals:
    def test_a_changed_plan_shows_the_difference(self, tmp_path: Path) -> None:
        world = World(tmp_path).write([row(1)])
        world.run(2)
        changed = World(tmp_path, COUNT.replace('"south"', '"east"'))
        with pytest.raises(PlanError, match=r"visits\.by\.region: was .*south.*, is .*east"):
            changed.run(3)
        assert world.values() == [1, 1]

    def test_sinks_and_store_may_change(self, tmp_path: Path) -> None:
        World(tmp_path).write([row(1)]).earnest(2)
        World(tmp_path, rest=SINK).earnest(3)
        assert (tmp_path / "out.csv").read_text(encoding="utf-8").count("\n") == 1 + 3 * 2

    def test_a_store_behind_its_sinks_releases_nothing(self, tmp_path: Path) -> None:
        world = World(tmp_path, rest=SINK).write([row(1)])
        world.earnest(2)
        backup = {file.name: file.read_bytes() for file in tmp_path.glob("s.db*")}
        world.earnest(5)
        for file in tmp_path.glob("s.db*"):
            file.unlink()
        for name, content in backup.items():
            (tmp_path / name).write_bytes(content)
            (tmp_path / name).chmod(0o600)
        with pytest.raises(StoreRefused, match="has step 5; the store has released 2"):
            world.earnest(6)
        assert len(world.values()) == 2

    def test_a_plan_beyond_the_cap_spends_and_reads_nothing(self, tmp_path: Path) -> None:
        World(tmp_path, epsilon="0.8\ncap = 1").write([row(1)]).run(1)
        second = World(tmp_path, epsilon="0.5")
        second.text = second.text.replace('name = "s"', 'name = "other"')
        with pytest.raises(BudgetExceeded, match=r"needs epsilon 0\.5; .* 'people' has 0\.2"):
            second.run(1)

    def test_a_store_without_real_noise_has_no_sinks(self, tmp_path: Path) -> None:
        world = World(tmp_path, rest=SINK).write([row(1)])
        with pytest.raises(StoreRefused, match="not the operating system's"):
            world.run(1)
        assert not (tmp_path / "out.csv").exists()

    def test_a_missing_column_is_told_before_anything_is_spent(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        world.file.write_text("at,who,region\n", encoding="utf-8")
        with pytest.raises(PlanError, match="no column 'age'"):
            world.run(1)
        assert not (tmp_path / "s.db").exists() or world_is_empty(tmp_path)

    def test_a_missing_file_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match=r"No file matches the source 'events\.csv'"):
            World(tmp_path).run(1)

    @pytest.mark.parametrize("waiting", [False, True])
    def test_a_file_that_a_launched_stream_misses_is_no_wrong_plan(
        self, waiting: bool, tmp_path: Path
    ) -> None:
        world = World(tmp_path).write([row(1)])
        world.run(1)
        whole = world.append([row(2)]).file.read_bytes()
        for content in (None, whole.partition(b"\n")[2]):
            world.file.unlink(missing_ok=True)
            if content is not None:
                world.file.write_bytes(content)
            with closing(open_store(str(tmp_path / "s.db"))) as store:
                if waiting and content is None:
                    Engine(world.plan, store).source(waiting=True)
                    continue
                with pytest.raises(SourceUnreadable) as caught:
                    Engine(world.plan, store).source(waiting=waiting)
            assert caught.value.exit_code == 1
            assert "[stream]" not in caught.value.tip.partition("before a launch")[0]
        assert world.values() == [1]
        world.text = world.text.replace("events.csv", "other.csv")
        with pytest.raises(PlanError, match="has changed"):
            world.run(2)

    def test_a_csv_log_that_is_empty_for_now_has_nothing_new(self, tmp_path: Path) -> None:
        world = World(tmp_path, stream='rotated = "events.csv.*"').write([row(1)])
        world.run(1)
        shutil.copy(world.append([row(2)]).file, tmp_path / "events.csv.1")
        world.file.write_bytes(b"")
        world.run(2)
        assert world.values() == [1, 2]


def world_is_empty(folder: Path) -> bool:
    with open_store(str(folder / "s.db")) as store, store.reading() as transaction:
        return not transaction.streams() and not transaction.populations()
