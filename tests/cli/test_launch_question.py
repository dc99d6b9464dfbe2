"""A launch is confirmed on a terminal, and nowhere else; it says whether its plan was checked."""

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
    fresh: Path, ameles: Program, type_in: TypeIn, answer: str
) -> None:
    type_in(answer)
    ended = ameles("run", *UNTIL)
    assert ended.code == 1
    assert "spends epsilon 1 of population 'visitors' forever" in ended.err
    assert "was not launched, and nothing was spent." in ended.err
    assert not (fresh / "releases.csv").exists()
    assert not exists("flu.db"), "no empty store is left behind"


def test_who_does_not_agree_in_a_store_that_is_there(
    fresh: Path, ameles: Program, type_in: TypeIn
) -> None:
    check()
    type_in("n\n")
    assert ameles("run", *UNTIL).code == 1
    assert not (fresh / "releases.csv").exists()
    with closing(open_store("flu.db")) as store, store.reading() as transaction:
        assert transaction.stream("flu") is None
        assert transaction.population("visitors") is None


def test_what_is_refused_leaves_no_store_behind(fresh: Path, ameles: Program) -> None:
    ended = ameles("run", *UNTIL, "--restart", "haste")
    assert (ended.code, "nothing to restart" in ended.err) == (2, True)
    assert not exists("flu.db")
    (fresh / "releases.csv").write_text("mine", encoding="utf-8")
    assert ameles("run", *UNTIL).code == 4
    assert not exists("flu.db")
    (fresh / "releases.csv").unlink()
    change("epsilon = 1.0", "epsilon = 1.0\ncap = 0.5")
    ended = ameles("run", *UNTIL)
    assert (ended.code, "error[budget]" in ended.err) == (3, True), ended.err
    assert not exists("flu.db")


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_who_agrees_launches_and_is_not_asked_again(
    ameles: Program, type_in: TypeIn, answer: str
) -> None:
    type_in(answer)
    first = ameles("run", *UNTIL)
    assert first.code == 0
    assert "Launched stream 'flu'" in first.err
    again = ameles("run", *UNTIL)  # nothing more is typed
    assert again.code == 0
    assert "[y/N]" not in again.err
    assert NEVER not in again.err


@pytest.mark.usefixtures("fresh")
def test_yes_is_an_answer(ameles: Program, type_in: TypeIn) -> None:
    type_in("")
    ended = ameles("run", *UNTIL, "--yes")
    assert ended.code == 0
    assert "[y/N]" not in ended.err


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("watched", [(False, False), (True, False), (False, True)])
def test_off_a_terminal_nothing_is_asked(
    ameles: Program, monkeypatch: pytest.MonkeyPatch, watched: tuple[bool, bool]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal() if watched[0] else io.StringIO())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched[1])
    ended = ameles("run", *UNTIL)
    assert ended.code == 0
    assert "[y/N]" not in ended.err


@pytest.mark.usefixtures("fresh")
def test_plan_and_a_launch_say_whether_the_plan_was_checked(ameles: Program) -> None:
    assert NEVER in ameles("plan").err
    assert not Path("flu.db").exists()
    check()
    assert "Somebody looked at what this plan would count on 20" in ameles("plan").err
    change("max_steps = 6", "max_steps = 5")
    assert NEVER in ameles("plan").err, "it is another plan now"
    change("max_steps = 5", "max_steps = 6")
    launched = ameles("run", *UNTIL)
    assert "Somebody looked at what this plan would count on 20" in launched.err
    assert "checked" not in ameles("run", *UNTIL).err
    assert "checked" not in ameles("plan").err, "too late to matter"


@pytest.mark.usefixtures("fresh")
def test_a_launch_says_that_its_plan_was_never_checked(ameles: Program) -> None:
    assert NEVER in ameles("run", *UNTIL).err
    assert NEVER not in ameles("run", *UNTIL).err


@pytest.mark.usefixtures("fresh")
def test_a_store_that_cannot_be_used_is_said_once(ameles: Program) -> None:
    Path("flu.db").write_text("this is no database", encoding="utf-8")
    ended = ameles("plan")
    assert ended.code == 0
    assert "cannot be used" in ended.err
    assert NEVER not in ended.err
