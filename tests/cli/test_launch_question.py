"""A launch is confirmed on a terminal, and needs --yes elsewhere.

It says whether its plan was checked.  Whatever is refused before it leaves the store as it was, or
makes none.
"""

from __future__ import annotations

import io
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ameles.engine.running.plan_checks import mark_checked
from ameles.plan.plan import read_plan
from ameles.store import exists, open_store
from tests.cli.conftest import Program, Terminal, TypeIn
from tests.cli.test_run import change

UNTIL = "--until", "2025-10-04"
NEVER = "This plan was never checked against its source"


def check() -> None:
    with closing(open_store("flu.db")) as store, store.writing() as transaction:
        mark_checked(transaction, read_plan(Path("ameles.toml")), datetime.now(UTC))


@pytest.mark.parametrize("answer", ["", "n\n", "\n", "no\n", "yesterday\n"])
def test_who_does_not_agree_spends_nothing(
    fresh: Path, typed: Program, type_in: TypeIn, answer: str
) -> None:
    type_in(answer)
    ended = typed("run", *UNTIL)
    assert ended.code == 2
    assert "spends epsilon 1 of population 'visitors' forever" in ended.err
    assert "was not launched, and nothing was spent." in ended.err
    assert not (fresh / "releases.csv").exists()
    assert not exists("flu.db"), "no empty store is left behind"


def test_who_does_not_agree_in_a_store_that_is_there(
    fresh: Path, typed: Program, type_in: TypeIn
) -> None:
    check()
    type_in("n\n")
    assert typed("run", *UNTIL).code == 2
    assert not (fresh / "releases.csv").exists()
    with closing(open_store("flu.db")) as store, store.reading() as transaction:
        assert transaction.stream("flu") is None
        assert transaction.population("visitors") is None


FILES = ["ameles.toml", "visits.csv"]
REFUSED = {  # what is changed in the plan, more words, the exit code, and a part of the error
    "no yes": ("", "", (), 2, "waits for its launch, which spends epsilon 1 of population 'visi"),
    "to restart": ("", "", ("--restart", "haste"), 2, "nothing to restart"),
    "a small cap": ("epsilon = 1.0", "epsilon = 1.0\ncap = 0.5", (), 3, "error[budget]"),
    "no budget": ("epsilon = 1.0", 'epsilon = 1.0\nbudget = "lab"', (), 2, "has no budget 'lab'"),
    "no source": ("visits.csv", "visit.csv", (), 2, "No file matches the source"),
    "no folder": ('"flu.db"', '"nowhere/flu.db"', (), 4, "error[store]"),
    "no service": ('"visits.csv"', '"http"', (), 2, "this command receives none"),
    "a sink of others": ('"releases.csv"', '"ameles.toml"', (), 2, "ameles.toml"),
}


@pytest.mark.parametrize("mine", [False, True], ids=["no store", "a store"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_store_behind(
    fresh: Path, typed: Program, case: str, mine: bool, kind_of_store: str
) -> None:
    before, after, more, code, said = REFUSED[case]
    if mine:
        check()
    change(before, after)
    if case == "no service":
        change('time = "reported_at"\n', "")
    yes = () if case == "no yes" else ("--yes",)
    kept = {path.name: path.read_bytes() for path in fresh.iterdir()}
    ended = typed("run", *UNTIL, *yes, *more)
    assert (ended.code, said in ended.err) == (code, True), ended.err
    assert {path.name: path.read_bytes() for path in fresh.iterdir()} == kept
    assert mine or kind_of_store != "sqlite" or sorted(kept) == FILES
    assert exists("flu.db") is mine


@pytest.mark.parametrize("content", [b"", b"\n\n", b"Visits of this season\n"])
@pytest.mark.parametrize("words", [(), ("--follow",)], ids=" ".join)
def test_a_file_that_does_not_name_its_columns_costs_nothing(
    fresh: Path, typed: Program, content: bytes, words: tuple[str, ...]
) -> None:
    (fresh / "visits.csv").write_bytes(content)
    ended = typed("run", "--yes", *words)
    assert (ended.code, "columns" in ended.err) == (2, True), ended.err
    assert sorted(path.name for path in fresh.iterdir()) == FILES
    assert not exists("flu.db")


def test_a_sink_that_is_somebody_elses_leaves_no_store_behind(fresh: Path, typed: Program) -> None:
    (fresh / "releases.csv").write_text("mine", encoding="utf-8")
    assert typed("run", *UNTIL, "--yes").code == 4
    assert not exists("flu.db")


@pytest.mark.usefixtures("site")
def test_a_budget_that_is_used_up_is_refused_before_anybody_is_asked(
    typed: Program, type_in: TypeIn
) -> None:
    change('name = "flu"', 'name = "second"')
    change("releases.csv", "second.csv")
    kept = {path.name: path.read_bytes() for path in Path().iterdir()}
    type_in("y\n")
    ended = typed("run")
    assert (ended.code, "[y/N]" in ended.err) == (3, False), ended.err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == kept


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_who_agrees_launches_and_is_not_asked_again(
    typed: Program, type_in: TypeIn, answer: str
) -> None:
    type_in(answer)
    first = typed("run", *UNTIL)
    assert first.code == 0
    assert "Launched stream 'flu'" in first.err
    again = typed("run", *UNTIL)  # nothing more is typed
    assert again.code == 0
    assert "[y/N]" not in again.err
    assert NEVER not in again.err


@pytest.mark.usefixtures("fresh")
def test_yes_is_an_answer(typed: Program, type_in: TypeIn) -> None:
    type_in("")
    ended = typed("run", *UNTIL, "--yes")
    assert ended.code == 0
    assert "[y/N]" not in ended.err


LAUNCHES = [
    (),
    ("--json",),
    ("--follow",),
    ("--follow", "--standby"),
    ("--engine", "spark"),
]


@pytest.mark.parametrize("watched", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("words", LAUNCHES, ids=" ".join)
def test_off_a_terminal_a_launch_needs_a_yes(
    fresh: Path,
    typed: Program,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    watched: tuple[bool, bool],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("y\n") if watched[0] else io.StringIO("y\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched[1])
    ended = typed("run", *words)
    assert (ended.code, ended.out) == (2, "")
    assert "[y/N]" not in ended.err
    assert "which spends epsilon 1 of population 'visitors'" in ended.err
    assert "try: ameles run --yes, which launches it" in ended.err
    assert not exists("flu.db")
    assert sorted(path.name for path in fresh.iterdir()) == FILES


@pytest.mark.usefixtures("fresh")
def test_a_launched_stream_goes_on_without_a_yes(typed: Program) -> None:
    assert typed("run", *UNTIL, "--yes").code == 0
    for more in ((), ("--json",)):
        again = typed("run", "--until", "2025-10-06", *more)
        assert again.code == 0
        assert NEVER not in again.err
    assert typed("run").code == 0


@pytest.mark.usefixtures("fresh")
def test_a_store_that_is_lost_is_no_reason_to_pay_again(typed: Program) -> None:
    assert typed("run", *UNTIL, "--yes").code == 0
    Path("flu.db").rename("elsewhere.db")
    ended = typed("run", *UNTIL)
    assert (ended.code, exists("flu.db")) == (4, False), ended.err
    Path("elsewhere.db").rename("flu.db")
    assert typed("run", *UNTIL).code == 0


def test_a_source_that_names_no_columns_yet_is_said(
    fresh: Path, typed: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    change('"visits.csv"', '"-"')
    said = "Nothing in standard input names its columns yet"
    assert said in typed("plan").err
    with (fresh / "nothing").open("wb+") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        ended = typed("run", *UNTIL, "--yes")
        assert (ended.code, said in ended.err) == (0, True), ended.err
        assert said not in typed("run", *UNTIL).err


@pytest.mark.usefixtures("fresh")
def test_plan_and_a_launch_say_whether_the_plan_was_checked(typed: Program) -> None:
    assert NEVER in typed("plan").err
    assert not Path("flu.db").exists()
    check()
    assert "Somebody looked at what this plan would count on 20" in typed("plan").err
    change("max_steps = 6", "max_steps = 5")
    assert NEVER in typed("plan").err, "it is another plan now"
    change("max_steps = 5", "max_steps = 6")
    launched = typed("run", *UNTIL, "--yes")
    assert "Somebody looked at what this plan would count on 20" in launched.err
    assert "checked" not in typed("run", *UNTIL).err
    assert "checked" not in typed("plan").err, "too late to matter"


@pytest.mark.usefixtures("fresh")
def test_a_launch_says_that_its_plan_was_never_checked(typed: Program) -> None:
    ended = typed("run", *UNTIL, "--yes")
    assert f"{NEVER}: ameles check shows you" in ended.err
    assert NEVER not in typed("run", *UNTIL).err


@pytest.mark.usefixtures("fresh")
def test_a_store_that_cannot_be_used_is_said_once(typed: Program) -> None:
    Path("flu.db").write_text("this is no database", encoding="utf-8")
    ended = typed("plan")
    assert ended.code == 0
    assert "cannot be used" in ended.err
    assert NEVER not in ended.err
