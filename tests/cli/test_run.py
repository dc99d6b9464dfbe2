"""``ameles run``: what it says, what it refuses and with which exit code, what it never does."""

from __future__ import annotations

import csv
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ameles.cli.run import cut_off
from ameles.core.exceptions import BadInput
from ameles.plan.plan import read_plan
from tests.cli.conftest import Program
from tests.connectors.following import locked


def change(old: str, new: str, file: str = "ameles.toml") -> None:
    text = Path(file).read_text(encoding="utf-8")
    assert old in text
    Path(file).write_text(text.replace(old, new), encoding="utf-8")


def published() -> list[dict[str, str]]:
    with Path("releases.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("fresh")
def test_a_stream_is_launched_once_goes_on_and_ends(ameles: Program) -> None:
    first = ameles("run", "--until", "2025-10-11")
    assert (first.code, first.out) == (0, "")
    assert "Launched stream 'flu': epsilon 1 of population 'visitors' is spent.\n" in first.err
    assert "10 steps were released; the stream is at step 10 of 182." in first.err
    assert "Step 11 ends on 2025-10-12 00:00 UTC." in first.err
    assert "Published in releases.csv" in first.err
    before = published()
    again = ameles("run", "--until", "2025-10-11")
    assert again.code == 0
    assert "Launched" not in again.err
    assert "No new steps were released" in again.err
    assert published() == before
    one = ameles("run", "--until", "2025-10-12")
    assert "1 step was released; the stream is at step 11 of 182." in one.err
    last = ameles("run")
    assert "That is its last step." in last.err
    assert published()[: len(before)] == before
    assert {int(row["step"]) for row in published()} == set(range(1, 183))


@pytest.mark.usefixtures("fresh")
def test_json_is_for_programs(ameles: Program) -> None:
    ended = ameles("run", "--until", "2025-10-04", "--json")
    assert ended.err == ""
    assert json.loads(ended.out) == {
        "stream": "flu",
        "launched": True,
        "released": 3,
        "new": 3,
        "horizon": 182,
    }


@pytest.mark.usefixtures("fresh")
def test_standard_output_is_for_a_sink_or_for_json(ameles: Program) -> None:
    change('csv = "releases.csv"', 'stdout = "csv"')
    both = ameles("run", "--until", "2025-10-04", "--json")
    assert (both.code, both.out) == (2, "")
    assert not Path("flu.db").exists()
    ended = ameles("run", "--until", "2025-10-04")
    assert len(ended.out.splitlines()) == 1 + 3 * 7
    assert "Published in standard output" in ended.err
    assert ameles("run", "--until", "2025-10-04").out == ""


def test_a_cut_off_is_a_past_moment_in_the_zone_of_the_plan(site: Path) -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    plan = read_plan(site / "ameles.toml")
    assert cut_off(None, plan, now=now) == now
    assert cut_off("2026-01-01", plan, now=now) == datetime(2026, 1, 1, tzinfo=UTC)
    assert cut_off("2026-01-01T01:00+02:00", plan, now=now) == datetime(
        2025, 12, 31, 23, tzinfo=UTC
    )
    change('late = "next"', 'late = "next"\nzone = "Europe/Rome"')
    rome = read_plan(site / "ameles.toml")
    assert cut_off("2026-01-01", rome, now=now) == datetime(2025, 12, 31, 23, tzinfo=UTC)
    with pytest.raises(BadInput, match="must not be in the future"):
        cut_off("2026-01-01T12:01", plan, now=now)
    with pytest.raises(BadInput, match="must be a date or a time"):
        cut_off("tomorrow", plan, now=now)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("horizon = 182", "horizn = 182", "stream.horizn: There is no such key.\n  try: horizon"),
        ("max_steps = 6", 'max_steps = "six"', "privacy.max_steps"),
        ('source = "visits.csv"', 'source = "visitors.csv"', "No file matches"),
        ("fever AND age", "fever AND rage", "release 'fever-today'.where"),
        ("epsilon = 1.0", "epsilon = 0", "privacy.epsilon: It must be above 0"),
        ("[stream]", "[stream", "The plan is not TOML"),
    ],
)
def test_a_wrong_plan_exits_with_2_and_spends_nothing(
    ameles: Program, old: str, new: str, said: str
) -> None:
    change(old, new)
    ended = ameles("run")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not Path("releases.csv").exists()


@pytest.mark.usefixtures("fresh")
def test_without_a_plan_it_says_how_to_get_one(ameles: Program) -> None:
    ended = ameles("run", "missing.toml")
    assert ended.code == 2
    assert "ameles init" in ended.err


@pytest.mark.usefixtures("site")
def test_a_plan_that_has_changed_is_refused_by_its_keys(ameles: Program) -> None:
    change("epsilon = 1.0", "epsilon = 2.0")
    ended = ameles("run")
    assert ended.code == 2
    assert "privacy.epsilon: was 1, is 2" in ended.err


@pytest.mark.usefixtures("site")
def test_no_budget_left_exits_with_3(ameles: Program) -> None:
    change('name = "flu"', 'name = "second"')
    change("releases.csv", "second.csv")
    ended = ameles("run")
    assert ended.code == 3
    said = "error[budget]: this plan needs epsilon 1; population 'visitors'"
    assert ended.err.startswith(said), "before anything else is said"
    assert "'flu" in ended.err
    assert not Path("second.csv").exists()


def test_a_store_that_cannot_be_used_exits_with_4(site: Path, ameles: Program) -> None:
    whole = (site / "releases.csv").read_bytes()
    (site / "releases.csv").write_bytes(whole[:-10] + b"edited 99\n")
    edited = ameles("run")
    assert edited.code == 4
    assert "was cut or edited" in edited.err
    (site / "releases.csv").write_bytes(whole)
    assert ameles("run").code == 0
    os.chmod(site / "flu.db", 0o644)
    assert "chmod 600" in ameles("run").err
    (site / "flu.db").unlink()  # and everything that says what was published stays
    removed = ameles("run")
    assert removed.code == 4
    assert "another launch of stream 'flu'" in removed.err
    assert "try: the store that made them, or its newest backup (ameles restore)" in removed.err
    assert "away" not in removed.err, "without its notes, the same events would be paid for twice"
    assert (site / "releases.csv").read_bytes() == whole


@pytest.mark.usefixtures("fresh")
def test_a_folder_for_the_store_that_is_not_there(ameles: Program) -> None:
    change('url = "flu.db"', 'url = "nowhere/flu.db"')
    ended = ameles("run")
    assert ended.code == 4
    assert "mkdir -p" in ended.err


def test_no_row_is_ever_repeated(fresh: Path, ameles: Program) -> None:
    canary = "cafebabe-canary"
    with (fresh / "visits.csv").open("a", encoding="utf-8") as file:
        file.write(f'2025-10-02T00:00:00Z,{canary},north,"{canary}\n{canary},{canary}\n')
        file.write(f"2025-10-02T00:00:00Z,{canary},{canary},{canary},{canary},{canary},{canary}\n")
    said = [
        ameles("run", "--until", "2025-10-11"),
        ameles("releases"),
        ameles("ledger", "--export"),
    ]
    assert all(ended.code == 0 for ended in said)
    everything = "".join(ended.out + ended.err for ended in said)
    assert canary not in everything
    assert canary not in (fresh / "releases.csv").read_text(encoding="utf-8")
    assert canary.encode() not in (fresh / "flu.db").read_bytes()


@pytest.mark.usefixtures("fresh")
def test_a_file_that_cannot_be_read_is_named_and_stops_no_other(ameles: Program) -> None:
    change('source = "visits.csv"', 'source = "*visits.csv"')
    Path("a-visits.csv").write_text("other,columns\n1,2\n", encoding="utf-8")
    ran = ameles("run", "--until", "2025-10-11")
    assert ran.code == 1
    assert "warning[plan]: The file 'a-visits.csv' has no column" in ran.err
    assert "10 steps were released" in ran.err
    Path("a-visits.csv").unlink()
    assert ameles("run", "--until", "2025-10-12").code == 0


@pytest.mark.usefixtures("fresh")
def test_a_source_of_which_nothing_can_be_read_is_no_error_of_usage(ameles: Program) -> None:
    with locked(Path("visits.csv")):
        ran = ameles("run", "--until", "2025-10-11")
    assert ran.code == 1
    assert ran.err.endswith("it is read as soon as that is possible\n")
    assert "error[source]: The file 'visits.csv' cannot be read." in ran.err
    assert "Launched stream" in ameles("run", "--until", "2025-10-11").err, "nothing was spent"


@pytest.mark.usefixtures("fresh")
def test_the_owner_says_what_a_restored_file_is(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-11").code == 0
    shutil.copy("visits.csv", "copy")
    Path("copy").replace("visits.csv")
    refused = ameles("run", "--until", "2025-10-12")
    assert refused.code == 4
    assert "ameles run --same-file 'visits.csv'" in refused.err
    told = ameles("run", "--until", "2025-10-12", "--same-file", "visit.csv")
    assert told.code == 4
    assert "--same-file 'visit.csv' matches no file of the source" in told.err
    both = ameles("run", "--same-file", "visits.csv", "--new-file", "visits.csv")
    assert both.code == 2
    assert "both given for 'visits.csv'" in both.err
    right = ameles("run", "--until", "2025-10-12", "--same-file", "visits.csv")
    assert right.code == 0
    assert "matches no file" not in right.err
    assert ameles("run", "--until", "2025-10-13").code == 0


@pytest.mark.usefixtures("fresh")
def test_what_is_said_to_be_run_names_the_plan(ameles: Program) -> None:
    Path("ameles.toml").rename("my flu.toml")
    ended = ameles("run", "my flu.toml", "--until", "2025-10-03")
    assert ended.err.rstrip().endswith("to see it here: ameles releases 'my flu.toml'")
    visits = Path("visits.csv")
    visits.rename("moved")
    shutil.copy("moved", visits)
    ended = ameles("run", "my flu.toml", "--until", "2025-10-04")
    assert ended.code == 4
    assert "try: ameles run 'my flu.toml' --same-file 'visits.csv' to go on" in ended.err
    assert "or ameles run 'my flu.toml' --new-file 'visits.csv'" in ended.err
