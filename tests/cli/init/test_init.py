"""``ameles init``: column names from a file, everything else from a person, no value ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.cli.init import plan_text
from ameles.plan.plan import read_plan, read_plan_text
from ameles.simulate import season, write_parquet
from tests.cli.conftest import Program
from tests.cli.init.guests import answer, options, written


def test_with_all_options_it_asks_nothing(ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    ended = ameles("init", "guests.csv", *options())
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith("Wrote ameles.toml. Next: ameles plan\n")
    plan = written()
    assert plan["stream"]["columns"] == {"when": "timestamp", "who": "text", "where it was": "text"}
    assert plan["stream"]["horizon"] == 30
    assert plan["privacy"]["max_per_step"] == 2
    assert plan["release"][0]["by"] == {"where it was": ["north", "south"]}
    assert ameles("plan").code == 0


def test_what_is_not_given_is_asked_and_asked_again(
    ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        "",
        "wen",
        "when",
        "",
        "",
        "soon",
        "2026-01-01",
        "1 day",
        "1h",
        "-1",
        "",
        "",
        "x",
        "",
    ]
    answer(monkeypatch, *answers)
    ended = ameles("init", "guests.csv")
    assert ended.code == 0, ended.err
    assert ended.err.startswith("Columns: when, who, where it was, ")
    assert "A column must be named." in ended.err
    assert "The file has no column 'wen'." in ended.err
    assert "The first day must be a date. Got 'soon' instead." in ended.err
    assert "A duration is a whole number" in ended.err
    assert "at least 1. Got '-1'" in ended.err
    assert "'epsilon'" in ended.err
    plan = read_plan(Path("ameles.toml"))
    assert (plan.privacy.unit, plan.privacy.population) == ("event", "visitors")
    assert (str(plan.stream.every), plan.stream.horizon) == ("1h", None)
    assert plan.releases[0].keys == ("",)
    assert plan.privacy.epsilon == 1


def test_keys_are_declared_by_a_person(ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, ",", "north,south")
    ended = ameles("init", "guests.csv", *options(keys=None))
    assert "a key that appears only when data arrives reveals who is in the data" in ended.err
    assert written()["release"][0]["by"] == {"where it was": ["north", "south"]}


def test_nobody_to_ask_exits_with_2(ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    ended = ameles("init", "guests.csv", *options(epsilon=None))
    assert ended.code == 2
    assert "There is no answer to this question: Which epsilon" in ended.err
    assert not Path("ameles.toml").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"time": "wen"}, "The file has no column 'wen'."),
        ({"time": ""}, "A column must be named."),
        ({"max_steps": "many"}, "It must be a whole number"),
        ({"max_steps": "31"}, "privacy.max_steps: It is more than the 30 steps"),
        ({"start": "soon"}, "The first day must be a date."),
        ({"every": "daily"}, "A duration is a whole number"),
        ({"epsilon": "0"}, "privacy.epsilon: It must be above 0"),
        ({"population": "the guests"}, "privacy.population: A name has"),
        ({"keys": ","}, "The keys of 'where it was' must be listed."),
        ({"by": ""}, "--keys needs a column that has them"),
    ],
)
def test_an_option_that_cannot_be_used_exits_with_2(
    ameles: Program, changed: dict[str, str], said: str
) -> None:
    ended = ameles("init", "guests.csv", *options(**changed))
    assert ended.code == 2
    assert said in ended.err
    assert not Path("ameles.toml").exists()


def test_nothing_is_overwritten(ameles: Program) -> None:
    Path("ameles.toml").write_text("mine", encoding="utf-8")
    ended = ameles("init", "guests.csv", *options())
    assert ended.code == 2
    assert "already exists" in ended.err
    assert Path("ameles.toml").read_text(encoding="utf-8") == "mine"


def test_a_file_that_is_not_there_is_told_first(ameles: Program) -> None:
    Path("ameles.toml").write_text("mine", encoding="utf-8")
    ended = ameles("init", "missing.csv", *options())
    assert ended.code == 2
    assert "There is no file 'missing.csv'." in ended.err
    assert "already" not in ended.err


@pytest.mark.parametrize("source", ["missing.csv", ".", "ameles.txt"])
def test_a_source_that_is_none(ameles: Program, source: str) -> None:
    Path("ameles.txt").touch()
    ended = ameles("init", source, *options())
    assert ended.code == 2
    assert ended.err.startswith("error[")


def test_a_plan_elsewhere_finds_its_source(ameles: Program, folder: Path) -> None:
    (folder / "plans").mkdir()
    ended = ameles("init", "guests.csv", "--output", "plans/guests.toml", *options())
    assert "Next: ameles plan plans/guests.toml" in ended.err
    plan = read_plan(folder / "plans" / "guests.toml")
    assert (plan.base / plan.stream.source).resolve() == folder / "guests.csv"
    nowhere = ameles("init", "guests.csv", "--output", "nowhere/guests.toml", *options())
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err


def test_no_value_is_read(ameles: Program, folder: Path) -> None:
    with (folder / "guests.csv").open("a", encoding="utf-8") as file:
        file.write("2026-01-01,canary,canary,canary,canary\n")
    ended = ameles("init", "guests.csv", *options())
    assert "canary" not in ended.err + Path("ameles.toml").read_text(encoding="utf-8")


def test_other_kinds_of_files(ameles: Program, folder: Path) -> None:
    write_parquet(folder / "visits.parquet", season(days=2, visitors=5))
    changed = options(time="reported_at", user="device", by="region")
    assert ameles("init", "visits.parquet", *changed).code == 0
    assert ameles("plan").code == 0
    # JSON Lines have no line that names the columns: whoever writes the plan knows them
    (folder / "events.jsonl").write_text('{"canary": 1}\n', encoding="utf-8")
    ended = ameles("init", "events.jsonl", "--output", "jsonl.toml", *options())
    assert ended.code == 0
    assert "canary" not in ended.err


def test_any_column_name_makes_a_plan() -> None:
    strange = 'a "b" \\ \t # ü = [x]'
    answers = {
        "time": strange,
        "user": "",
        "population": "p",
        "start": "2026-01-01",
        "every": "1d",
        "horizon": "",
        "by": "ключ",
        "epsilon": "1/3",
    }
    plan = read_plan_text(plan_text("x.csv", "x", answers, ['"', "\\"], others=("a\x7fb", strange)))
    assert plan.stream.time == strange
    assert plan.releases[0].keys == ('"', "\\")
