"""``ameles explain``: mechanism, noise, interval, guarantee and ledger line of a number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_run import change, published


@pytest.mark.usefixtures("site")
def test_the_story_of_a_number(ameles: Program) -> None:
    ended = ameles("explain", "visits", "98")
    assert (ended.code, ended.err) == (0, "")
    first, *lines = ended.out.splitlines()
    # seven days: the step and the six before it
    assert first == "visits, step 98: count from 2025-12-31 00:00 to 2026-01-07 00:00 UTC"
    row = next(
        row
        for row in published()
        if (row["release"], row["key"], row["step"]) == ("visits", "north", "98")
    )
    value, low, high = (f"{float(row[name]):,.0f}" for name in ("value", "low", "high"))
    assert lines[0] == f"  north: {value}, interval {low} to {high}"
    told = dict(line.split(maxsplit=1) for line in lines[4:] if not line.startswith(" "))
    assert told["mechanism"].startswith("SimpleTwoCounter, because it has the smallest mean error")
    # six days of epsilon 0.35; seven noises of deviation 24.2 add up
    assert told["noise"].startswith("discrete Laplace of scale 17.1429; all draws in this number")
    assert told["noise"].endswith("64.1")
    assert "in up to 6 steps by at most 1 (L1), over 182 steps" in told["guarantee"]
    assert "seized" not in told["guarantee"], "the visits themselves lie in a file"
    assert told["ledger"].startswith("entry 1 of population 'visitors': 'flu/visits' was started")


@pytest.mark.usefixtures("site")
def test_an_alert_has_no_interval(ameles: Program) -> None:
    ended = ameles("explain", "outbreak", "3")
    # 3,000 is 15 scales of its noise away: a false alarm in one of 10^6 runs
    assert "\n  below\n" in ended.out
    assert "interval   none" in ended.out
    assert "within 706 of it, with probability 95%" in ended.out


@pytest.mark.usefixtures("site")
def test_json_is_for_programs(ameles: Program) -> None:
    ended = ameles("explain", "visitors", "98", "--json")
    assert ended.err == ""
    document = json.loads(ended.out)
    assert document["entry"]["paid"] == {"currency": "pure", "epsilon": "1/10"}
    assert document["releases"][0]["step"] == 98
    assert document["recipe"]["recipe"] == document["releases"][0]["mechanism"] == "HatsCounter"
    simple = json.loads(ameles("explain", "visits", "98", "--json").out)
    assert simple["recipe"]["recipe"] == "SimpleTwoCounter"
    assert simple["guarantee"]["intrusions"] == "none", "the visits themselves lie in a file"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("visit", "1"), "There is no release 'visit'"),
        (("visits", "183"), "The stream has 182 steps. Got step 183"),
        (("visits", "0"), "Usage: "),
    ],
)
def test_what_is_not_there_exits_with_2(
    ameles: Program, arguments: tuple[str, ...], said: str
) -> None:
    ended = ameles("explain", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.usefixtures("fresh")
def test_a_step_past_the_horizon_is_told_what_there_is(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-01").code == 0
    assert "try: ameles run" in ameles("explain", "visits", "183").err
    assert ameles("run", "--until", "2025-10-03").code == 0
    assert "try: ameles explain visits 2\n" in ameles("explain", "visits", "183").err


@pytest.mark.usefixtures("fresh")
def test_a_step_that_was_not_released(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-03").code == 0
    ended = ameles("explain", "visits", "3")
    assert ended.code == 2
    assert "Step 3 was not released yet; the stream is at step 2." in ended.err
    assert "2025-10-04 00:00 UTC" in ended.err


@pytest.mark.usefixtures("site")
def test_many_keys_are_cut(ameles: Program) -> None:
    for file in Path().glob("flu.db*"):
        file.unlink()
    for file in Path().glob("releases.csv*"):
        file.unlink()
    keys = ", ".join(f'"r{number}"' for number in range(12))
    change('["north", "south", "east", "west"]', f"[{keys}]")
    assert ameles("run", "--until", "2025-10-02").code == 0
    assert "... and 2 other keys" in ameles("explain", "visits", "1").out
