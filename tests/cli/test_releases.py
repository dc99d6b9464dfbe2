"""``ameles releases``: the table of the last ones; all of them as the sinks have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ameles.core.release import COLUMNS
from tests.cli.conftest import Program
from tests.cli.test_run import published


@pytest.mark.usefixtures("site")
def test_csv_is_what_the_sink_has(ameles: Program) -> None:
    ended = ameles("releases", "--format", "csv")
    assert ended.out == Path("releases.csv").read_text(encoding="utf-8")
    assert ended.err == ""


@pytest.mark.usefixtures("site")
def test_some_of_them_as_json(ameles: Program) -> None:
    arguments = ("--release", "visits", "--key", "south", "--first", "180")
    for form in (("--json",), ("--format", "jsonl")):
        lines = ameles("releases", *arguments, *form).out.splitlines()
        rows = [json.loads(line) for line in lines]
        assert [tuple(each) for each in rows] == [COLUMNS] * 3
        assert [(each["key"], each["step"]) for each in rows] == [
            *(("south", 180), ("south", 181), ("south", 182))
        ]
    wanted = [row for row in published() if (row["release"], row["key"]) == ("visits", "south")]
    assert [str(each["value"]) for each in rows] == [row["value"] for row in wanted[-3:]]


@pytest.mark.usefixtures("site")
def test_the_table_shows_the_last_and_leaves_out_empty_columns(ameles: Program) -> None:
    ended = ameles("releases")
    heads, _, *lines = ended.out.splitlines()
    assert heads.split() == [
        *("release", "key", "label", "ends", "(UTC)", "step", "value", "low", "high")
    ]
    assert len(lines) == 5 * 7
    assert "95% of the privacy noise" in ended.err
    assert "Steps from 178 on are shown" in ended.err
    one = ameles("releases", "--release", "fever-today", "--first", "181")
    heads, _, *lines = one.out.splitlines()
    assert heads.split() == ["release", "ends", "(UTC)", "step", "value", "low", "high"]
    assert len(lines) == 2
    assert "are shown" not in one.err
    some = ameles("releases", "--key", "north", "--first", "95", "--last", "97").out
    assert [line.split()[4] for line in some.splitlines()[2:]] == ["95", "96", "97"]


@pytest.mark.usefixtures("fresh")
def test_a_stream_that_has_released_nothing(ameles: Program) -> None:
    unlaunched = ameles("releases")
    assert unlaunched.code == 4
    assert "was not launched yet" in unlaunched.err
    assert ameles("run", "--until", "2025-10-01").code == 0
    nothing = ameles("releases")
    assert nothing.code == 0
    assert "Nothing was released there; the stream is at step 0." in nothing.err
    assert ameles("releases", "--format", "csv").out == ",".join(COLUMNS) + "\n"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--release", "visit"), "There is no release 'visit'.\n  try: one of visits, fever-today"),
        (("--release", "visits", "--key", "nord"), "one of north, south, east, west"),
        (("--first", "0"), "Usage: "),
        (("--format", "xml"), "Usage: "),
    ],
)
def test_wrong_names_exit_with_2(ameles: Program, arguments: tuple[str, ...], said: str) -> None:
    ended = ameles("releases", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.usefixtures("site")
def test_steps_that_there_are_not(ameles: Program) -> None:
    for form in ("table", "csv", "jsonl"):
        ended = ameles("releases", "--first", "9", "--last", "2", "--format", form)
        assert (ended.code, ended.out) == (2, "")
        assert "--first 9 is after --last 2" in ended.err
    later = ameles("releases", "--first", "200", "--last", "300")
    assert later.code == 0
    assert "Nothing was released there; the stream is at step 182." in later.err
