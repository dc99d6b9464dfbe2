"""``ameles check``: for the owner's eyes alone, whatever it finds; that one looked is kept."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from importlib import resources
from pathlib import Path

import pytest
from rich.console import Console

from ameles.cli.check_report import FactsPage
from ameles.cli.secret_output import HEADING
from ameles.engine.owner_check.facts import Facts
from ameles.plan.plan import read_plan_text
from tests.cli.conftest import Ended, Program
from tests.cli.test_run import change
from tests.stand_in import bare_store

SECRET = "--secret-to", "look.txt"


@pytest.fixture
def on_terminal(ameles: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program with a person in front of it."""

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return ameles(*arguments)

    return run


def looked() -> list[tuple[str, int]]:
    with bare_store(Path("flu.db")) as store:
        entries: list[tuple[str, int]] = store.execute(
            "SELECT plan, at FROM checked ORDER BY plan"
        ).fetchall()
    return entries


def held() -> dict[str, list[str]]:
    """Every row of what a stream has in its store."""
    tables = ("stream", "population", "entry", "position", "state", "release", "seen")
    with bare_store(Path("flu.db")) as store:
        return {
            name: sorted(map(repr, store.execute(f"SELECT * FROM {name}").fetchall()))
            for name in tables
        }


@pytest.mark.usefixtures("fresh")
def test_a_terminal_sees_it_under_a_line_that_says_what_it_is(on_terminal: Program) -> None:
    ended = on_terminal("check")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == HEADING
    (counted,) = [line for line in lines if line.startswith("events that count in a step")]
    assert counted.split()[-1] == "3,000"
    assert "max_per_step = 1 and max_steps = 6 keep" in ended.out
    assert "visits: south" in ended.out
    assert "Nothing looks wrong." in ended.out


def test_elsewhere_it_is_refused_and_nothing_is_read_or_made(fresh: Path, ameles: Program) -> None:
    (fresh / "visits.csv").unlink()
    ended = ameles("check")
    assert (ended.code, ended.out) == (2, "")
    assert "not a terminal" in ended.err
    assert [file.name for file in fresh.iterdir()] == ["ameles.toml"]
    assert ameles("check", "--json").code == 2


def test_a_file_is_new_and_of_its_owner_alone(fresh: Path, ameles: Program) -> None:
    ended = ameles("check", *SECRET)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "Written to look.txt: exact and secret.\n"
    assert stat.S_IMODE(os.stat("look.txt").st_mode) == 0o600
    assert Path("look.txt").read_text(encoding="utf-8").startswith(HEADING)
    again = ameles("check", *SECRET)
    assert again.code == 2
    (fresh / "link").symlink_to(fresh / "elsewhere")
    assert ameles("check", "--secret-to", "link").code == 2
    assert not (fresh / "elsewhere").exists()


def test_json_for_programs(fresh: Path, ameles: Program) -> None:
    assert ameles("check", "--json", *SECRET).code == 0
    document = json.loads((fresh / "look.txt").read_text(encoding="utf-8"))
    assert document["secret"] == HEADING
    assert document["lines"]["events"] == document["times"]["counted"] == 3000
    assert document["users"]["choices"][0]["half_widths"].keys() == {
        "visits",
        "fever-today",
        "visitors",
        "outbreak",
    }


@pytest.mark.usefixtures("fresh")
def test_that_one_looked_is_kept_and_not_what_was_seen(
    ameles: Program, on_terminal: Program
) -> None:
    assert "never checked" in ameles("plan").err
    assert on_terminal("check").code == 0
    first = looked()
    assert len(first) == 2, "the plan and its population"
    assert all(len(digest) == 64 and at > 0 for digest, at in first)
    assert "Somebody looked at what this plan would count" in ameles("plan").err
    assert (
        "Somebody looked at what this plan would count"
        in ameles("run", "--until", "2025-10-03").err
    )
    export = json.loads(ameles("ledger", "--export").out)
    assert export["deployments"][0]["bounds"] == "after looking"
    assert on_terminal("check").code == 0
    assert looked() == first


def test_a_broken_source_is_found_and_changes_neither_exit_nor_store(
    fresh: Path, on_terminal: Program, ameles: Program
) -> None:
    good = ameles("check", "--secret-to", "good.txt")
    outcome = looked()
    for spoilt in (b"", b"\xff\xfe", b"a;b\n1;2\n", b"reported_at\n", b"\x1f\x8b"):
        (fresh / "visits.csv").write_bytes(spoilt)
        ended = on_terminal("check")
        assert (ended.code, ended.err) == (0, "")
        assert "try: " in ended.out or "is empty" in ended.out
        assert looked() == outcome
    assert good.code == 0
    assert not any(held().values()), "nothing was launched"


def test_a_source_that_is_not_there_exits_with_1_and_was_not_looked_at(
    fresh: Path, on_terminal: Program
) -> None:
    (fresh / "visits.csv").unlink()
    ended = on_terminal("check")
    assert ended.code == 1
    assert on_terminal("check", *SECRET).code == 1
    assert [file.name for file in fresh.iterdir()] == ["ameles.toml"]


@pytest.mark.parametrize("spoilt", ["a,b\n1,2\n", "reported_at\n"])
def test_a_source_that_cannot_be_read_is_said_once_and_leaves_no_store(
    fresh: Path, on_terminal: Program, spoilt: str
) -> None:
    (fresh / "visits.csv").write_text(spoilt, encoding="utf-8")
    ended = on_terminal("check")
    assert ended.code == 0
    assert ended.out.count("has no column 'reported_at'") + ended.out.count("no column 'dev") == 1
    assert ended.out.count("try: ") == 1
    assert "To look at" not in ended.out
    assert {file.name for file in fresh.iterdir()} == {"ameles.toml", "visits.csv"}


def test_what_is_chosen_by_looking_is_told_beside_its_hint(
    fresh: Path, on_terminal: Program
) -> None:
    lines = (fresh / "visits.csv").read_text(encoding="utf-8").splitlines()
    first, _, rest = lines[1].partition(",")
    assert first.startswith("2025-")
    (fresh / "visits.csv").write_text(
        "\n".join([*lines, *[f"2024-01-01T00:00:00Z,{rest}"] * 90]) + "\n", encoding="utf-8"
    )
    told = on_terminal("check").out.splitlines()
    (place,) = [place for place, line in enumerate(told) if "try: start =" in line]
    assert "outside of the guarantee" in told[place + 1]
    assert any("outside of the guarantee" in line for line in told[:place]), "at the table"


def test_a_weight_is_told_in_the_table_of_releases(fresh: Path, on_terminal: Program) -> None:
    text = (fresh / "ameles.toml").read_text(encoding="utf-8").partition("[privacy]")[0]
    text = text.replace("[stream]", '[stream]\nweight = "age"')
    text += (
        '[privacy]\npopulation = "lines"\nunit = "event"\nepsilon = 1\n[[release]]\n'
        'name = "visits"\nmeasure = "count"\n[store]\nurl = "flu.db"\n'
    )
    (fresh / "ameles.toml").write_text(text, encoding="utf-8")
    told = on_terminal("check").out.splitlines()
    total = next(line.split()[-1] for line in told if line.startswith("  stand for"))
    (head,) = [line for line in told if "meet where" in line]
    assert "stand for" in head
    assert total in next(line for line in told if line.startswith("visits  ")).split()


@pytest.mark.usefixtures("fresh")
def test_a_bad_plan_and_a_bad_store(on_terminal: Program) -> None:
    Path("flu.db").write_text("this is no database", encoding="utf-8")
    assert on_terminal("check").code == 4
    change("epsilon = 1.0", "epsilon = 0")
    assert on_terminal("check").code == 2


def spoil(site: Path) -> None:
    """Events with a canary in each column, in a new region, too often, and in a broken line."""
    with (site / "visits.csv").open("a", encoding="utf-8") as file:
        for time in ("2026-03-01T00:00:00Z", "canary-time"):
            file.write(f"{time},canary-device,canary-region,canary-age,canary-fever,false,37\n" * 7)
        file.write('2026-03-01T00:00:00Z,"canary-open\n')


def test_nothing_that_it_sees_is_anywhere_else(
    fresh: Path, on_terminal: Program, ameles: Program
) -> None:
    spoil(fresh)
    source = (fresh / "visits.csv").read_bytes()
    plain = on_terminal("check")
    assert "canary" not in plain.out + plain.err
    assert "aaaaaa-aaaa (7)" in plain.out
    shown = on_terminal("check", "--show")
    assert "canary-time" in shown.out
    assert "canary-region" in shown.out
    assert shown.err == ""
    silent = ameles("check", "--show", *SECRET)
    assert "canary" not in silent.out + silent.err
    left = {file.name: file.read_bytes() for file in fresh.iterdir()}
    assert b"canary" in left.pop("look.txt")
    assert left.pop("visits.csv") == source
    assert set(left) <= {"ameles.toml", "flu.db", "flu.db-wal", "flu.db-shm"}
    for content in left.values():
        assert b"canary" not in content
        assert b"3,014" not in content
        assert b"3014" not in content


def test_a_launched_stream_goes_on_as_if_nobody_had_looked(
    fresh: Path, on_terminal: Program, ameles: Program
) -> None:
    assert ameles("run", "--until", "2025-10-11").code == 0
    before = {file.name: file.read_bytes() for file in fresh.iterdir() if "db" not in file.name}
    rows = held()
    assert all(rows.values())
    assert on_terminal("check").code == 0
    assert on_terminal("check", "--all").code == 0
    assert held() == rows
    now = {file.name: file.read_bytes() for file in fresh.iterdir() if "db" not in file.name}
    assert now == before
    assert ameles("run", "--until", "2025-10-12").code == 0


@pytest.mark.usefixtures("fresh")
def test_texts_of_the_data_do_not_command_the_terminal(on_terminal: Program) -> None:
    with Path("visits.csv").open("a", encoding="utf-8") as file:
        file.write("\x1b[2J\x07,\x1b]0;x,\x1b[31m,1,true,false,37\n")
    shown = on_terminal("check", "--show")
    assert shown.code == 0
    assert r"\x1b[2J\x07" in shown.out
    assert "\x1b[2J" not in shown.out
    assert "\x1b[31m" not in shown.out


@pytest.mark.usefixtures("fresh")
def test_names_of_files_and_orders_of_reading_do_not_command_the_terminal(
    on_terminal: Program,
) -> None:
    """A file may have any name, and a key may turn the text after it around."""
    Path("visits.csv").rename("visits\x1b[2J\u202e.csv")
    change('source = "visits.csv"', 'source = "visits*.csv"')
    with Path("visits\x1b[2J\u202e.csv").open("a", encoding="utf-8") as file:
        file.write("2025-10-03T00:00:00Z,d,\u202enorth\u2066,1,1,true,37\nbroken\n")
    shown = on_terminal("check", "--show")
    assert shown.code == 0
    assert r"visits\x1b[2J\u202e.csv' line" in shown.out.replace("\n", " ")
    for raw in ("\x1b[2J", "\u202e", "\u2066"):
        assert raw not in shown.out + shown.err


def test_a_source_without_files_has_its_name_alone_as_heading() -> None:
    console = Console(record=True, file=io.StringIO())
    demo = resources.files("ameles.cli").joinpath("demo.toml").read_text(encoding="utf-8")
    page = FactsPage(console, read_plan_text(demo))
    page.show(Facts("visits", "topic://visits", unreadable="It is not there."))
    assert "\nSource topic://visits\n" in console.export_text()
