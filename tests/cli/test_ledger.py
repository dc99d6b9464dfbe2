"""``ameles ledger``: what was spent and is left, renewals, and the record for registries."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from tests.cli.conftest import Program
from tests.cli.test_run import change


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
    ended = ameles("ledger", "--renew", "0.5", "--why", "a second season")
    assert ended.code == 0
    assert "epsilon 1 spent in its life, epsilon 0.5 left of epsilon 1.5." in ended.out
    assert "by epsilon 0.5: a second season" in ended.out
    assert "Added epsilon 0.5" in ended.err
    assert "at this rate the cap lasts until" in ended.err
    found = json.loads(ameles("ledger", "--json").out)
    assert found["cap"] == {"currency": "pure", "epsilon": "3/2"}
    assert [one["why"] for one in found["renewals"]] == ["a second season"]
    assert found["entries"][0]["on"] == "flu/visits"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--renew", "1"),
        ("--why", "because"),
        ("--renew", "1", "--why", " "),
        ("--renew", "much", "--why", "because"),
        ("--renew", "0", "--why", "because"),
        ("--renew", "-1", "--why", "because"),
        ("--renew", "nan", "--why", "because"),
    ],
)
def test_half_a_renewal_is_refused(ameles: Program, arguments: tuple[str, ...]) -> None:
    ended = ameles("ledger", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "left of epsilon 1." in ameles("ledger").out


@pytest.mark.usefixtures("site")
def test_the_record_for_registries(ameles: Program) -> None:
    ended = ameles("ledger", "--export")
    assert ended.err == ""
    found = json.loads(ended.out)
    assert found["implementation"]["version"] == metadata.version("ameles")
    assert found["population"]["adjacency"] == "user-presence"
    (flu,) = found["deployments"]
    assert (flu["cadence"], flu["horizon"], flu["late_data"]) == ("1d", 182, "next")
    assert (flu["start"], flu["end"]) == ("2025-10-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert flu["intrusions"] == ["none"]
    assert found["privacy_loss"]["cumulative"]["exact"] == {"currency": "pure", "epsilon": "1"}
    assert set(found["flags"]) == {"retired"}


@pytest.mark.usefixtures("site")
def test_a_population_that_is_not_in_the_store(ameles: Program) -> None:
    change('population = "visitors"', 'population = "others"')
    ended = ameles("ledger")
    assert ended.code == 4
    assert "has no population 'others'" in ended.err
