"""``ameles ledger``: what was spent and is left, renewals, and the record for registries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib import metadata

import pytest

from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.ledger import Ledger
from ameles.ledger.report import rate_of, report
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from tests.cli.conftest import Program, TypeIn
from tests.cli.test_run import change
from tests.each import together


@pytest.mark.usefixtures("site")
def test_what_was_spent_and_what_is_left(ameles: Program) -> None:
    ended = ameles("ledger")
    assert ended.code == 0
    first, _, _, _, *lines = ended.out.splitlines()
    assert first == (
        "Population 'visitors', for one user: epsilon 1 spent in its life, "
        "epsilon 0 left of epsilon 1."
    )
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    assert [line.split()[3] for line in lines] == [
        *("flu/visits", "flu/fever-today", "flu/visitors", "flu/outbreak")
    ]
    assert "The cap is used up: nothing more can start." in ended.err


@pytest.mark.usefixtures("site")
def test_a_renewal_is_kept_and_the_lifetime_sum_goes_on(ameles: Program) -> None:
    ended = ameles("ledger", "--renew", "0.5", "--why", "a second season", "--yes")
    assert ended.code == 0
    assert "epsilon 1 spent in its life, epsilon 0.5 left of epsilon 1.5." in ended.out
    assert "by epsilon 0.5: a second season" in ended.out
    assert "Added epsilon 0.5" in ended.err
    assert "In the last 30 days epsilon 1 was spent.\n" in ended.err
    assert "at this rate" not in ended.err, "a launch is no rate"
    document = json.loads(ameles("ledger", "--json").out)
    assert document["cap"] == {"currency": "pure", "epsilon": "3/2"}
    assert [one["why"] for one in document["renewals"]] == ["a second season"]
    assert document["entries"][0]["on"] == "flu/visits"
    assert document["entries"][0]["guarantee"]["intrusions"] == "none", "as the plan says"


@pytest.mark.usefixtures("site")
@together(
    "arguments",
    [
        ("--renew", "1"),
        ("--why", "because"),
        ("--renew", "1", "--why", " "),
        ("--renew", "much", "--why", "because"),
        ("--renew", "0", "--why", "because"),
        ("--renew", "-1", "--why", "because"),
        ("--renew", "nan", "--why", "because"),
        ("--renew", "inf", "--why", "because"),
        ("--renew", "1e9", "--why", "because"),
        ("--renew", "1000.001", "--why", "because"),
        ("--renew", "1e-999", "--why", "because"),
    ],
)
def test_half_a_renewal_is_refused(ameles: Program, arguments: tuple[str, ...]) -> None:
    ended = ameles("ledger", *arguments, "--yes")
    assert (ended.code, ended.out) == (2, "")
    assert "left of epsilon 1." in ameles("ledger").out


RENEW = "ledger", "--renew", "0.5", "--why", "a second season"


class TestRenewalsAreConfirmed:
    @pytest.mark.usefixtures("site")
    def test_where_nobody_can_be_asked(self, ameles: Program) -> None:
        ended = ameles(*RENEW)
        assert (ended.code, ended.out) == (2, "")
        assert "A renewal needs --yes if there is no terminal to ask at." in ended.err
        assert "left of epsilon 1." in ameles("ledger").out

    @pytest.mark.usefixtures("site")
    @pytest.mark.parametrize("answer", ["", "n\n", "\n", "yesterday\n"])
    def test_who_does_not_agree(self, ameles: Program, type_in: TypeIn, answer: str) -> None:
        type_in(answer)
        ended = ameles(*RENEW)
        assert (ended.code, ended.out) == (1, "")
        asked = "adds epsilon 0.5 to the cap of population 'visitors', which is epsilon 1, forever"
        assert asked in ended.err
        assert "was not renewed" in ended.err
        assert "left of epsilon 1." in ameles("ledger").out

    @pytest.mark.usefixtures("site")
    def test_who_agrees(self, ameles: Program, type_in: TypeIn) -> None:
        type_in("y\n")
        ended = ameles(*RENEW)
        assert ended.code == 0
        assert "Renew it? [y/N]" in ended.err
        assert "left of epsilon 1.5." in ended.out


@pytest.mark.usefixtures("fresh")
def test_a_small_spend_of_a_large_cap_is_told(ameles: Program) -> None:
    change("epsilon = 1.0", "epsilon = 0.01\ncap = 1000")
    assert ameles("run", "--until", "2025-10-02").code == 0
    assert "In the last 30 days epsilon 0.01 was spent.\n" in ameles("ledger").err


def test_a_rate_is_told_after_thirty_days() -> None:
    first = datetime(2026, 3, 1, tzinfo=UTC)
    clock = [first]
    book = Ledger(
        "visitors",
        cap=Pure(1000),
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        clock=lambda: clock[0],
    )
    book.start(SimpleTwoCounter(epsilon=1), on="flu", why="weekly report")
    clock[0] += timedelta(days=10)
    book.start(SimpleTwoCounter(epsilon=10), on="colds", why="weekly report")
    early, late = (report(book, now=first + timedelta(days=days)) for days in (29, 30))
    assert rate_of(early) == "In the last 30 days epsilon 11 was spent."
    lasts = "2034-05-15"  # 989 at a third a day
    said = f"In the last 30 days epsilon 10 was spent; at this rate the cap lasts until {lasts}."
    assert rate_of(late) == said
    clock[0] += timedelta(days=40)
    book.start(SimpleTwoCounter(epsilon="1/1000"), on="x", why="y")
    assert rate_of(report(book, now=clock[0])).endswith("lasts beyond the year 9999.")


@pytest.mark.usefixtures("site")
def test_the_record_for_registries(ameles: Program) -> None:
    ended = ameles("ledger", "--export")
    assert ended.err == ""
    document = json.loads(ended.out)
    assert document["implementation"]["version"] == metadata.version("ameles")
    assert document["population"]["adjacency"] == "user-presence"
    (flu,) = document["deployments"]
    assert (flu["cadence"], flu["horizon"], flu["late_data"]) == ("1d", 182, "next")
    assert (flu["start"], flu["end"]) == ("2025-10-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert flu["intrusions"] == ["none"]
    assert document["privacy_loss"]["cumulative"]["exact"] == {"currency": "pure", "epsilon": "1"}
    assert set(document["flags"]) == {"retired"}


@pytest.mark.usefixtures("site")
def test_a_population_that_is_not_in_the_store(ameles: Program) -> None:
    change('population = "visitors"', 'population = "others"')
    ended = ameles("ledger")
    assert ended.code == 4
    assert "has no population 'others'" in ended.err
