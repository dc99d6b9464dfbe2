"""A plan under test: the truth without noise, isolation, and what the kit refuses."""

from __future__ import annotations

import gc
from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.engine import Engine
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan, read_plan_text
from ameles.store import open_store
from ameles.testing import ListSink, PlanTest, Tape, Zero
from tests.testing.plans import USER, plan, visit

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/*.toml"), *ROOT.glob("examples/plans/**/*.toml")])
ROWS = [visit(1), visit(1, "south"), visit(2), visit(4, "east"), visit(4, None)]


def test_the_truth_without_noise() -> None:
    test = PlanTest(plan())
    test.add(*ROWS)
    report = test.run(through=4)
    assert (report.launched, report.released, report.new, report.horizon) == (True, 4, 4, 6)
    assert test.values("visits", "north") == [1, 2, 2, 2]
    assert test.values("visits", "south") == [1, 1, 1, 1]
    assert test.values("daily") == [2, 1, 0, 2]
    assert [each.step for each in test.releases() if each.release == "daily"] == [1, 2, 3, 4]


def test_it_is_what_a_run_on_a_file_gives(tmp_path: Path) -> None:
    test = PlanTest(plan())
    test.add(*ROWS)
    test.run(through=6)
    lines = [f"{row['at'].isoformat()},{row['who']},{row['region'] or ''}" for row in ROWS]
    (tmp_path / "events.csv").write_text("\n".join(["at,who,region", *lines, ""]), encoding="utf-8")
    checked = read_plan_text(plan().partition("[[sink]]")[0], base=tmp_path)
    with closing(open_store(str(tmp_path / "visits.db"))) as store:
        Engine(checked, store, noise=Zero()).run(instant(checked.clock.end_of(6)))
        with store.reading() as transaction:
            stream = transaction.stream("visits")
            assert stream is not None
            expected = list(transaction.releases(stream))
    assert test.releases() == expected


def test_rows_that_come_later_are_late() -> None:
    test = PlanTest(plan())
    test.add(visit(1))
    test.run(through=1)
    test.add(visit(1), visit(2))
    assert test.run(through=2).new == 1
    assert test.values("daily") == [1, 2]


def test_the_bounds_of_a_user_hold() -> None:
    test = PlanTest(plan(USER))
    test.add(visit(1), visit(1), visit(2), visit(3), visit(1, who="bob"))
    test.run(through=3)
    assert test.values("daily") == [2, 1, 0]


@pytest.mark.parametrize("value", [7, "7", " 7", 7.0, "7.0"])
def test_values_are_cast_as_those_of_a_file(value: object) -> None:
    text = plan().replace('region = "text" }', 'region = "integer" }')
    test = PlanTest(text.replace('["north", "south"]', "[7, 8]"))
    test.add(visit(1, value), visit(1, "7.5"), visit(1, True))
    test.run(through=1)
    assert test.values("visits", "7") == [1]


def test_a_boolean_and_a_day_are_values() -> None:
    text = plan().replace('region = "text" }', 'region = "boolean" }')
    test = PlanTest(text.replace('["north", "south"]', "[true, false]"))
    test.add(visit(1, True), visit(2, False) | {"at": visit(2)["at"].date()})
    test.run(through=2)
    assert (test.values("visits", "true"), test.values("visits", "false")) == ([1, 1], [0, 1])


def test_how_files_are_written_plays_no_part() -> None:
    test = PlanTest(plan(stream='time_format = "%d.%m.%Y"\ndelimiter = ";"'))
    test.add(visit(1), visit(2) | {"at": "2026-01-02T09:00:00Z"})
    test.run(through=2)
    assert test.values("daily") == [1, 1]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_can_be_tested(file: Path) -> None:
    assert PlanTest(file).run(through=1).released == 1


def test_a_plan_that_was_read(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(plan(), encoding="utf-8")
    test = PlanTest(read_plan(tmp_path / "plan.toml"))
    assert test.run(through=2).released == 2


def test_nothing_that_the_plan_names_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(plan(), encoding="utf-8")
    for given in (plan(), Path("plan.toml")):
        PlanTest(given).run(through=1)
    assert [file.name for file in tmp_path.iterdir()] == ["plan.toml"]


def test_a_temporary_folder_goes_with_its_test(tmp_path: Path) -> None:
    temporary, kept = PlanTest(plan()), PlanTest(plan(), folder=tmp_path)
    folder = temporary.folder
    temporary.run(through=1)
    kept.run(through=1)
    assert folder.is_dir()
    del temporary, kept
    gc.collect()
    assert not folder.exists()
    assert list((tmp_path / "store").iterdir())


def test_another_test_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    first = PlanTest(plan(), folder=tmp_path)
    first.add(visit(1), visit(3))
    first.run(through=1)
    second = PlanTest(plan(), folder=tmp_path)
    with pytest.raises(BadInput, match="The list has 0 rows, and 2 of them were taken"):
        second.run(through=2)
    second.add(visit(1), visit(3), visit(2))
    second.run(through=3)
    assert second.values("daily") == [1, 1, 1]


def test_a_tape_decides_and_records_the_noise() -> None:
    tape = Tape([10])
    test = PlanTest(plan(), noise=tape)
    test.add(visit(1))
    test.run(through=1)
    # the first draw is that of the first release and key
    assert [test.values("visits", key) for key in ("north", "south")] == [[11], [0]]
    assert test.values("daily") == [1]
    assert [draw.value for draw in tape.draws[:2]] == [10, 0]


@pytest.mark.parametrize("noise", [Zero(), Tape()])
def test_a_sink_refuses_noise_of_a_test(noise: Zero | Tape, tmp_path: Path) -> None:
    test = PlanTest(plan(), noise=noise, sink=ListSink(), folder=tmp_path / "refused")
    with pytest.raises(StoreRefused, match="not the operating system's"):
        test.run(through=1)
    PlanTest(plan(), noise=noise, folder=tmp_path / "marked").run(through=1)
    sink = ListSink()
    earnest = PlanTest(plan(), sink=sink, folder=tmp_path / "marked")
    with pytest.raises(StoreRefused, match="not the operating system's"):
        earnest.run(through=2)
    assert sink.rows == []


@pytest.mark.parametrize(("release", "key"), [("visit", "north"), ("visits", ""), ("daily", "x")])
def test_a_release_that_the_plan_does_not_have(release: str, key: str) -> None:
    with pytest.raises(BadInput, match="The plan has no release") as refused:
        PlanTest(plan()).values(release, key)
    assert "'visits' ['north', 'south']" in refused.value.tip


def test_before_the_launch_nothing_is_released() -> None:
    test = PlanTest(plan())
    assert not test.releases()
    assert not test.values("daily")


def test_a_row_without_a_column_is_refused_and_none_is_taken() -> None:
    test = PlanTest(plan())
    with pytest.raises(BadInput, match="The row has no column 'who', 'region'"):
        test.add(visit(1), {"at": "2026-01-01", "regoin": "north"})
    test.run(through=1)
    assert test.values("daily") == [0]


def test_what_is_shown_of_it_tells_nothing_of_the_rows() -> None:
    test = PlanTest(plan())
    test.add(visit(1, "a secret"))
    reading = test.source.reading(None)
    assert "secret" not in f"{test!r} {test.source!r} {reading!r}"
    assert repr(test) == "<PlanTest of 'visits'>"
