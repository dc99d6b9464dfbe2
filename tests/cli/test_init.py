"""``ameles init``: column names from a file, everything else from a person, no value ever."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ameles.cli.init import plan_text
from ameles.connectors.named_files import find_files
from ameles.plan.plan import read_plan, read_plan_text
from ameles.simulate import season, write_parquet
from tests.cli.conftest import Program

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

HEADER = 'when,who,where it was,"a ""quoted"", name",n\n'
GIVEN = {
    "--time": "when",
    "--user": "who",
    "--max-per-step": "2",
    "--max-steps": "5",
    "--population": "guests",
    "--start": "2026-01-01",
    "--every": "1d",
    "--horizon": "30",
    "--by": "where it was",
    "--keys": "north, south",
    "--epsilon": "0.5",
}


def options(**changed: str | None) -> list[str]:
    """All options as words, some changed, some left out."""
    named = {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    words = []
    for name, value in {**GIVEN, **named}.items():
        words += [name, value] if value is not None else []
    return words


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guests.csv").write_text(HEADER, encoding="utf-8")
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def written() -> dict[str, Any]:
    return tomllib.loads(Path("ameles.toml").read_text(encoding="utf-8"))


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
    assert "It must be a date. Got 'soon' instead." in ended.err
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
    assert "a key that appears only when data arrives would reveal who is in the data" in ended.err
    assert written()["release"][0]["by"] == {"where it was": ["north", "south"]}


def test_nobody_to_ask_exits_with_2(ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    ended = ameles("init", "guests.csv", *options(epsilon=None))
    assert ended.code == 2
    assert "Nobody answers: Which epsilon" in ended.err
    assert not Path("ameles.toml").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"time": "wen"}, "The file has no column 'wen'."),
        ({"time": ""}, "A column must be named."),
        ({"max_steps": "many"}, "It must be a whole number"),
        ({"max_steps": "31"}, "privacy.max_steps: It is more than the 30 steps"),
        ({"start": "soon"}, "It must be a date."),
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


def hints(text: str) -> list[str]:
    """The keys that a plan has behind a comment sign, as lines."""
    return [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line]


class TestHints:
    """What else a plan can say stands in it, behind a comment sign, and is right as it stands."""

    def test_each_can_be_taken_as_it_is(self, ameles: Program, folder: Path) -> None:
        given = options(user="", by="", keys=None, max_per_step=None, max_steps=None)
        assert ameles("init", "guests.csv", *given).code == 0
        text = (folder / "ameles.toml").read_text(encoding="utf-8")
        lines = hints(text)
        assert [line.split(" = ")[0] for line in lines] == [
            *("time_format", "decimal", "encoding", "zone", "weight")
        ]
        for line in lines:
            changed = text.replace(f"# {line}", line)
            if line.startswith("weight"):
                changed = changed.replace('when = "timestamp"', 'when = "timestamp", n = "integer"')
            plan = read_plan_text(changed)
            value = tomllib.loads(line)
            assert plan.to_json() != read_plan_text(text).to_json(), value

    def test_what_a_plan_cannot_have_is_not_hinted_at(self, ameles: Program, folder: Path) -> None:
        assert ameles("init", "guests.csv", *options()).code == 0
        text = (folder / "ameles.toml").read_text(encoding="utf-8")
        assert "weight" not in text, "it goes with single events alone"
        write_parquet(folder / "visits.parquet", season(days=2, visitors=5))
        changed = options(time="reported_at", user="device", by="region")
        assert ameles("init", "visits.parquet", "-o", "p.toml", *changed).code == 0
        text = (folder / "p.toml").read_text(encoding="utf-8")
        assert [line.split(" = ")[0] for line in hints(text)] == ["time_format", "zone"]

    def test_an_encoding_that_is_given_is_written(self, ameles: Program, folder: Path) -> None:
        (folder / "wide.csv").write_text("when,who,where it was\n", encoding="utf-16")
        ended = ameles("init", "wide.csv", *options())
        assert ended.code == 2
        assert "is in UTF-16" in ended.err
        assert 'try: --encoding utf-16; in the plan, encoding = "utf-16"' in ended.err
        ended = ameles("init", "wide.csv", "--encoding", "utf-16", *options())
        assert ended.code == 0, ended.err
        assert "Columns: when, who, where it was" in ended.err
        assert written()["stream"]["encoding"] == "utf-16"
        assert "would refuse" not in ameles("plan").err
        ended = ameles("init", "wide.csv", "-o", "b.toml", "--encoding", "morse", *options())
        assert ended.code == 2
        assert "try: one of utf-8, utf-16, " in ended.err


def packed(ending: str, text: str, encoding: str = "utf-8") -> bytes:
    whole = text.encode(encoding)
    if ending == ".gz":
        return gzip.compress(whole)
    return bz2.compress(whole) if ending == ".bz2" else zstd.compress(whole)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
class TestCompressed:
    def test_the_names_are_of_what_is_inside(
        self, ameles: Program, folder: Path, ending: str
    ) -> None:
        (folder / f"old.csv{ending}").write_bytes(packed(ending, HEADER))
        ended = ameles("init", f"old.csv{ending}", *options())
        assert ended.code == 0, ended.err
        assert ended.err.startswith("Columns: when, who, where it was, ")
        assert written()["stream"]["source"] == f"old.csv{ending}"
        assert "would refuse" not in ameles("plan").err

    def test_an_event_is_not_shown(self, ameles: Program, folder: Path, ending: str) -> None:
        bare = packed(ending, "2026-01-01,canary,north\n")
        (folder / f"bare.csv{ending}").write_bytes(bare)
        ended = ameles("init", f"bare.csv{ending}", *options())
        assert ended.code == 2
        assert "canary" not in ended.err
        assert "looks like an event" in ended.err

    def test_a_name_without_its_ending(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / "old.csv").write_bytes(packed(ending, HEADER))
        assert f"try: mv 'old.csv' 'old.csv{ending}'" in ameles("init", "old.csv", *options()).err

    def test_a_folder_of_them(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / "logs").mkdir()
        (folder / "logs" / f"1.csv{ending}").write_bytes(packed(ending, HEADER))
        assert f"try: ameles init 'logs/*.csv{ending}'" in ameles("init", "logs", *options()).err

    def test_utf_16_inside(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / f"w.csv{ending}").write_bytes(packed(ending, HEADER, "utf-16"))
        assert "is in UTF-16" in ameles("init", f"w.csv{ending}", *options()).err


CANARY = "canary"


class TestFirstLines:
    """No value of an event is shown, and no file is taken for what it is not."""

    @pytest.mark.parametrize(
        "first",
        [
            f"2026-01-01T10:00:00Z,{CANARY},north",
            f"1767261600,{CANARY},north",
            f"{CANARY},22.01.2020,north",
            f"{CANARY},1 Jan 2026,true",
            f"{CANARY},{CANARY},10:30",
            f'"{CANARY}",,"2026-01-01"',
            f"{CANARY}@example.org,yes",
            f"2026-01-01,{CANARY}\xa0\ufffd",
            "x" * 70 + f",{CANARY}",
        ],
    )
    def test_an_event_is_not_shown(
        self, ameles: Program, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        (folder / "bare.csv").write_text(f"{first}\n{first}\n", encoding="utf-8")
        for arguments in (options(), options(time=None), options(time="wen")):
            answer(monkeypatch, "", "when", "who")
            ended = ameles("init", "bare.csv", *arguments)
            assert ended.code == 2
            assert ended.out == ""
            assert CANARY not in ended.err
            assert "2026" not in ended.err
            assert "looks like an event" in ended.err
            assert "--header reported_at,region" in ended.err
            assert not (folder / "ameles.toml").exists()

    def test_an_odd_name_is_no_obstacle(self, ameles: Program, folder: Path) -> None:
        (folder / "odd.csv").write_text("when,2020,canary\n", encoding="utf-8")
        given = options(user="", by="2020", max_per_step=None, max_steps=None)
        ended = ameles("init", "odd.csv", *given)
        assert ended.code == 0, ended.err
        assert CANARY not in ended.err + (folder / "ameles.toml").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")]
    )
    def test_other_delimiters(
        self, ameles: Program, folder: Path, delimiter: str, name: str
    ) -> None:
        (folder / "other.csv").write_text(f"when{delimiter}{CANARY}\n", encoding="utf-8")
        ended = ameles("init", "other.csv", *options())
        assert ended.code == 2
        assert f"has {name} and no commas" in ended.err
        assert "try: --delimiter " in ended.err
        assert CANARY not in ended.err
        given = options(user="", by="", keys=None, max_per_step=None, max_steps=None)
        ended = ameles("init", "other.csv", "--delimiter", delimiter, *given)
        assert ended.code == 0, ended.err
        assert written()["stream"]["delimiter"] == delimiter
        assert "would refuse" not in ameles("plan").err
        assert ameles("init", "other.csv", "-o", "b.toml", "--delimiter", "", *given).code == 2

    def test_names_that_a_person_gives(self, ameles: Program, folder: Path) -> None:
        (folder / "bare.csv").write_text(f"2026-01-01,{CANARY},north\n", encoding="utf-8")
        names = "when,who,where it was"
        ended = ameles("init", "bare.csv", "--header", names, *options())
        assert ended.code == 0, ended.err
        assert written()["stream"]["header"] == ["when", "who", "where it was"]
        assert CANARY not in ended.err + (folder / "ameles.toml").read_text(encoding="utf-8")
        assert "would refuse" not in ameles("plan").err
        assert ameles("init", "bare.csv", "-o", "b.toml", "--header", "", *options()).code == 2

    def test_standard_input_is_no_file(self, ameles: Program, folder: Path) -> None:
        (folder / "-").write_text(HEADER, encoding="utf-8")
        ended = ameles("init", "-", *options())
        assert ended.code == 2
        assert "'-' is standard input" in ended.err

    def test_folders_and_patterns(self, ameles: Program, folder: Path) -> None:
        (folder / "logs").mkdir()
        for number in (1, 2):
            (folder / "logs" / f"{number}.csv").write_text(HEADER, encoding="utf-8")
        ended = ameles("init", "logs", *options())
        assert ended.code == 2
        assert "'logs' is a folder." in ended.err
        assert "try: ameles init 'logs/*.csv'" in ended.err
        (folder / "plans").mkdir()
        ended = ameles("init", "logs/*.csv", "--output", "plans/a.toml", *options())
        assert ended.code == 0, ended.err
        plan = read_plan(folder / "plans" / "a.toml")
        assert (plan.stream.source, plan.stream.name) == ("../logs/*.csv", "stream")
        assert len(find_files(plan.stream.source, plan.base)) == 2
        assert ameles("plan", "plans/a.toml").code == 0
        assert ameles("init", "logs/*.jsonl", "--output", "b.toml", *options()).code == 2

    @pytest.mark.parametrize(
        ("first", "what"),
        [
            (b"\x1f\x8b\x08", "compressed with gzip"),
            (b"(\xb5/\xfd", "compressed with zstd"),
            (b"BZh91AY", "compressed with bzip2"),
            (b"PK\x03\x04", "an archive"),
            (b"PAR1", "is Parquet"),
            ("\ufeffwhen,who".encode("utf-16-le"), "in UTF-16"),
        ],
    )
    def test_files_that_are_something_else(
        self, ameles: Program, folder: Path, first: bytes, what: str
    ) -> None:
        for name in ("guests.csv", "guests.jsonl"):
            (folder / name).write_bytes(first + b"canary\n")
            ended = ameles("init", name, *options())
            assert ended.code == 2
            assert what in ended.err
            assert CANARY not in ended.err
