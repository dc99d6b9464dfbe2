"""``ameles convert``: strict, whole or not at all, and exact facts for the owner alone."""

from __future__ import annotations

import gzip
import io
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.cli.conftest import Program

COLUMNS = "at=timestamp,who=text,n=number"
GERMAN = (
    *("--columns", COLUMNS, "--delimiter", ";", "--decimal", ","),
    *("--time-format", "%d.%m.%Y", "--encoding", "latin-1", "--zone", "Europe/Berlin"),
)
SOUND = 'at,who,n\n2026-01-01T10:00:00Z,"ada\nlovelace",1.5\n2026-01-02,"a ""b"", c",\n'
BROKEN = SOUND + '2026-01-03,"open,3\n2026-01-04,x,4,\n2026-01-05,secret-canary,many\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(file: Path) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect()) as duck:
        duck.execute("SET TimeZone = 'UTC'")
        return duck.execute(
            f"SELECT strftime(\"at\", '%d %H:%M'), who, n FROM '{file}' ORDER BY 1, 2"
        ).fetchall()


def test_records_with_newlines_become_rows(folder: Path, ameles: Program) -> None:
    (folder / "a.csv").write_text(SOUND)
    ended = ameles("convert", "a.csv", "a.parquet", "--columns", COLUMNS)
    assert (ended.code, ended.out) == (0, "")  # no terminal: nothing exact
    assert 'source = "a.parquet"' in ended.err
    assert content(folder / "a.parquet") == [
        ("01 10:00", "ada\nlovelace", 1.5),
        ("02 00:00", 'a "b", c', None),
    ]
    assert (folder / "a.parquet").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in folder.iterdir()) == ["a.csv", "a.parquet"]


def test_other_formats(folder: Path, ameles: Program) -> None:
    text = 'at;who;n\n22.01.2020;"Jos\u00e9\nx";3,5\n'.encode("latin-1")
    (folder / "a.csv.gz").write_bytes(gzip.compress(text))
    assert ameles("convert", "a.csv.gz", "a.parquet", *GERMAN).code == 0
    assert content(folder / "a.parquet") == [("21 23:00", "Jos\u00e9\nx", 3.5)]


def test_a_broken_record_stops_it_and_nothing_is_left(folder: Path, ameles: Program) -> None:
    (folder / "a.csv").write_text(BROKEN)
    ended = ameles("convert", "a.csv", "a.parquet", "--columns", COLUMNS)
    assert ended.code == 1
    assert ended.out == ""
    assert "has broken records, and nothing was written" in ended.err
    assert not any(character.isdigit() for character in ended.err)  # nor how many, nor where
    assert [file.name for file in folder.iterdir()] == ["a.csv"]


def test_who_skips_them_off_a_terminal_hears_that_there_may_be_some(
    folder: Path, ameles: Program
) -> None:
    heard = set()
    for text in (SOUND, BROKEN):
        (folder / "a.csv").write_text(text)
        (folder / "a.parquet").unlink(missing_ok=True)
        given = ("convert", "a.csv", "a.parquet", "--columns", COLUMNS, "--skip-broken")
        ended = ameles(*given)
        assert (ended.code, ended.out) == (0, "")
        heard.add(ended.err)
    assert len(heard) == 1
    assert "If there were broken records, they were left out" in heard.pop()


def test_the_owner_is_told_every_one(folder: Path, ameles: Program) -> None:
    (folder / "a.csv").write_text(BROKEN)
    given = ("convert", "a.csv", "a.parquet", "--columns", COLUMNS)
    ended = ameles(*given, "--skip-broken", "--secret-to", "facts.txt")
    assert (ended.code, ended.out) == (0, "")
    facts = (folder / "facts.txt").read_text().splitlines()
    assert facts[0].startswith("EXACT AND SECRET")
    assert facts[1:] == [
        "line 5: a quote is opened and not closed",
        "line 6: it has 4 fields instead of 3",
        "3 records are sound, 2 are broken.",
        "Column 'n': 1 values do not fit and are missing.",
    ]
    assert (folder / "facts.txt").stat().st_mode & 0o777 == 0o600
    assert "canary" not in ended.err + "".join(facts)
    assert [row[1] for row in content(folder / "a.parquet")][-1] == "secret-canary"


def test_a_terminal_is_told_the_first_ones(
    folder: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    (folder / "a.csv").write_text(SOUND + "x\n" * 25)
    assert ameles("convert", "a.csv", "a.parquet", "--columns", COLUMNS).code == 1
    lines = terminal.getvalue().splitlines()
    assert lines[0].startswith("EXACT AND SECRET")
    assert lines[1] == "line 5: it has 1 field instead of 3"
    assert lines[21:] == [
        "and 5 more: --secret-to FILE names all of them",
        "2 records are sound, 25 are broken.",
    ]


def parts(folder: Path, *texts: str) -> None:
    (folder / "in").mkdir()
    for number, text in enumerate(texts):
        (folder / "in" / f"{number}.csv").write_text(text)
    (folder / "in" / "notes.txt").write_text("no CSV")


@pytest.mark.parametrize("named", [("in",), ("in/*.csv",), ("in/0.csv", "in/1.csv"), ("in", "in")])
def test_files_of_a_pattern_or_a_folder_become_one(
    folder: Path, ameles: Program, named: tuple[str, ...]
) -> None:
    parts(folder, SOUND, SOUND.replace("2026-01-01", "2026-01-05"))
    assert ameles("convert", *named, "a.parquet", "--columns", COLUMNS).code == 0
    assert [row[0] for row in content(folder / "a.parquet")] == [
        *("01 10:00", "02 00:00", "02 00:00", "05 10:00")
    ]


@pytest.mark.parametrize("named", [("in",), ("in/*.csv",), ("in/0.csv", "in/hard.csv", "in")])
def test_a_file_with_several_names_is_read_once(
    folder: Path, ameles: Program, named: tuple[str, ...]
) -> None:
    """A plan with the same pattern counts it once too."""
    parts(folder, SOUND)
    (folder / "in" / "hard.csv").hardlink_to(folder / "in" / "0.csv")
    (folder / "in" / "latest.csv").symlink_to("0.csv")
    ended = ameles("convert", *named, "a.parquet", "--columns", COLUMNS)
    assert ended.code == 0
    assert len(content(folder / "a.parquet")) == 2
    for name in ("hard", "latest"):
        assert f"'in/{name}.csv' is another name of 'in/0.csv', so it is left out" in ended.err


def test_a_file_under_two_spellings_is_read_once(folder: Path, ameles: Program) -> None:
    parts(folder, SOUND)
    spelled = ("in/0.csv", "in/./0.csv", str(folder / "in" / "0.csv"))
    ended = ameles("convert", *spelled, "a.parquet", "--columns", COLUMNS)
    assert len(content(folder / "a.parquet")) == 2
    assert "'in/./0.csv' is another name of 'in/0.csv'" in ended.err


def test_who_names_no_file_is_not_sent_to_its_permissions(folder: Path, ameles: Program) -> None:
    ended = ameles("convert", "none.csv", "a.parquet", "--columns", COLUMNS)
    assert ended.code == 2
    assert "permissions" not in ended.err
    assert "chmod" not in ended.err


@pytest.mark.parametrize("name", ["br [x]", "br[y]", "br*"])
def test_a_folder_with_brackets_in_its_name_is_a_folder(
    folder: Path, ameles: Program, name: str
) -> None:
    parts(folder, SOUND)
    (folder / "in").rename(folder / name)
    assert ameles("convert", name, "a.parquet", "--columns", COLUMNS).code == 0
    assert len(content(folder / "a.parquet")) == 2


@pytest.mark.parametrize(
    ("plan", "target", "said"),
    [
        (None, "out.parquet", 'a plan in this folder: source = "out.parquet"'),
        (None, "sub/out.parquet", 'a plan in this folder: source = "sub/out.parquet"'),
        ("sub/p.toml", "sub/data/out.parquet", "'sub/p.toml': source = \"data/out.parquet\""),
        ("sub/p.toml", "out.parquet", "'sub/p.toml': source = \"../out.parquet\""),
    ],
)
def test_the_source_to_write_is_relative_to_the_folder_of_the_plan(
    folder: Path, ameles: Program, plan: str | None, target: str, said: str
) -> None:
    (folder / "sub" / "data").mkdir(parents=True)
    (folder / "a.csv").write_text(SOUND)
    text = (
        '[stream]\nname = "s"\nsource = "a.csv"\ntime = "at"\nevery = "1d"\n'
        'columns = { at = "timestamp", who = "text", n = "number" }\nstart = "2026-01-01"\n'
        '[privacy]\npopulation = "p"\nunit = "event"\nepsilon = 1\n'
        '[[release]]\nname = "r"\nmeasure = "count"\n[store]\nurl = "s.db"\n'
    )
    (folder / "sub" / "p.toml").write_text(text)
    more = ("--columns", COLUMNS) if plan is None else ("--plan", plan)
    ended = ameles("convert", "a.csv", target, *more)
    assert f"In {said}, without the keys" in ended.err


def test_broken_records_of_several_files_are_named_with_their_file(
    folder: Path, ameles: Program
) -> None:
    parts(folder, SOUND, BROKEN, SOUND + "x\n")
    given = ("convert", "in/*.csv", "a.parquet", "--columns", COLUMNS, "--secret-to", "facts.txt")
    ended = ameles(*given)
    assert ended.code == 1
    assert "'in/*.csv' has broken records" in ended.err
    assert (folder / "facts.txt").read_text().splitlines()[1:5] == [
        "'in/1.csv' line 5: a quote is opened and not closed",
        "'in/1.csv' line 6: it has 4 fields instead of 3",
        "'in/2.csv' line 5: it has 1 field instead of 3",
        "7 records are sound, 3 are broken.",
    ]


@pytest.mark.parametrize(
    ("texts", "named", "words"),
    [
        ((SOUND, "at,n,who\n"), "in", "The first line of the file 'in/1.csv' names other columns"),
        ((SOUND, "at,who\n"), "in/*", "makes a Parquet file from CSV files"),
        ((SOUND, "at,who\n"), "in/?.csv", "The file 'in/1.csv' has no column 'n'"),
        ((), "in/*.csv", "No CSV file matches 'in/*.csv'"),
        ((), "in", "No CSV file matches 'in'"),
    ],
)
def test_files_that_do_not_belong_together_are_refused_by_name(
    folder: Path, ameles: Program, texts: tuple[str, ...], named: str, words: str
) -> None:
    parts(folder, *texts)
    ended = ameles("convert", named, "a.parquet", "--columns", COLUMNS)
    assert ended.code == 2
    assert words in ended.err
    assert "permissions" not in ended.err
    assert not (folder / "a.parquet").exists()


def test_names_of_columns_and_files_do_not_command_the_terminal(
    folder: Path, ameles: Program
) -> None:
    for number in range(2):
        (folder / f"\x1b[2J\u202e{number}.csv").write_text("a\x1b[2Jb\u202e\n1\nx,y\n")
    (folder / "columns.toml").write_text("")
    given = ("*.csv", "a.parquet", "--columns", "a\x1b[2Jb\u202e=timestamp", "--skip-broken")
    assert ameles("convert", *given, "--secret-to", "facts.txt").code == 0
    said = (folder / "facts.txt").read_text()
    assert "\\x1b[2J\\u202e0.csv' line 3" in said
    assert "Column 'a\\x1b[2Jb\\u202e'" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_the_plan_says_columns_and_format(folder: Path, ameles: Program) -> None:
    plan = (
        '[stream]\nname = "s"\nsource = "a.csv"\ntime = "at"\ndelimiter = ";"\n'
        'columns = { at = "timestamp", who = "text", n = "number" }\nstart = "2026-01-01"\n'
        'every = "1d"\nzone = "Europe/Berlin"\n[privacy]\npopulation = "p"\nunit = "event"\n'
        'epsilon = 1\n[[release]]\nname = "r"\nmeasure = "count"\n[store]\nurl = "s.db"\n'
    )
    (folder / "ameles.toml").write_text(plan)
    (folder / "a.csv").write_text('n;extra;who;at\n1;x;"a\nb";2026-01-02\n')
    assert ameles("convert", "a.csv", "a.parquet").code == 0
    assert content(folder / "a.parquet") == [("01 23:00", "a\nb", 1.0)]
    # what the command says wins over the plan, as for a plan whose source is Parquet by now
    (folder / "ameles.toml").write_text(
        plan.replace("a.csv", "a.parquet").replace('delimiter = ";"\n', "")
    )
    assert ameles("convert", "a.csv", "b.parquet").code == 2
    assert ameles("convert", "a.csv", "b.parquet", "--delimiter", ";", "--zone", "UTC").code == 0
    assert content(folder / "b.parquet") == [("02 00:00", "a\nb", 1.0)]
    kept = (
        "--plan",
        "ameles.toml",
        "--delimiter",
        ";",
        "--columns",
        "at=timestamp, who=text,n=text",
    )
    assert ameles("convert", "a.csv", "c.parquet", *kept).code == 0
    assert content(folder / "c.parquet") == [("01 23:00", "a\nb", "1")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a.csv", "a.csv"), "makes a Parquet file from CSV files"),
        (("a.jsonl", "a.parquet"), "makes a Parquet file from CSV files"),
        (("a.csv", "b.parquet"), "'b.parquet' already exists"),
        (("none.csv", "a.parquet"), "There is no file 'none.csv'"),
        (("a.csv", "none/a.parquet"), "cannot be written"),
        (("a.csv", "a.parquet", "--columns", "at=time"), "columns.at"),
        (("a.csv", "a.parquet", "--columns", "nobody=text"), "has no column 'nobody'"),
        (("twice.csv", "a.parquet"), "has more than one column 'who'"),
        (("empty.csv", "a.parquet"), "has no column 'at'"),
        (("a.csv", "a.parquet", "--delimiter", "ab"), "delimiter"),
        (("a.csv", "a.parquet", "--encoding", "klingon"), "encoding"),
        (("bad.csv.gz", "a.parquet"), "cannot be unpacked"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_nothing_written(
    folder: Path, ameles: Program, arguments: tuple[str, ...], words: str
) -> None:
    (folder / "a.csv").write_text(SOUND)
    (folder / "twice.csv").write_text("at,who,n,who\n")
    (folder / "empty.csv").write_text("")
    (folder / "b.parquet").write_text("mine")
    (folder / "bad.csv.gz").write_bytes(b"no gzip at all")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    more = () if "--columns" in arguments else ("--columns", COLUMNS)
    ended = ameles("convert", *arguments, *more)
    assert ended.code in (1, 2)
    assert words in ended.err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
