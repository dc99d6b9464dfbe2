"""``ameles budget``: named budgets below a cap, and plans that they pay for."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.store import open_store
from tests.cli.conftest import Program, TypeIn
from tests.cli.test_run import change

RENEW = "ledger", "--renew", "1", "--why", "studies", "--yes"


@pytest.mark.usefixtures("site")
def test_budgets_are_opened_and_shown_as_a_tree(ameles: Program) -> None:
    assert ameles("budget", "open", "research", "--epsilon", "0.8").code == 0
    assert ameles("budget", "open", "teaching").code == 0
    ended = ameles("budget", "open", "study-a", "--epsilon", "1/2", "--under", "research")
    assert ended.code == 0
    assert ended.err == "Opened budget 'study-a' of population 'visitors', a part of 'research'.\n"
    listed = ameles("budget", "list").out
    assert ended.out == listed
    lines = [line.rstrip() for line in listed.splitlines()[2:]]
    assert [line.split("epsilon")[0].rstrip() for line in lines] == [
        "visitors",
        "  research",
        "    study-a",
        "  teaching",
    ]
    assert lines[3].endswith("none of its own")
    assert lines[2].split() == ["study-a", *(["epsilon", "0", "epsilon", "0.5", "epsilon", "0.5"])]
    assert listed in ameles("ledger").out
    ledger = json.loads(ameles("budget", "list", "--json").out)
    assert ledger["population"] == "visitors"
    assert ledger["budgets"][2] == {
        "name": "study-a",
        "parent": "research",
        "cap": {"currency": "pure", "epsilon": "1/2"},
        "spent": {"currency": "pure", "epsilon": "0"},
        "left": {"currency": "pure", "epsilon": "1/2"},
        "renewals": [],
    }
    assert ledger["budgets"][1]["cap"] is ledger["budgets"][1]["left"] is None
    whole = json.loads(ameles("ledger", "--json").out)
    assert whole["budgets"] == ledger["budgets"]
    assert {entry["by"] for entry in whole["entries"]} == {"visitors"}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("open",), "needs a name"),
        (("open", "../x"), "needs a name"),
        (("open", "visitors"), "'visitors' was used"),
        (("open", "a", "--under", "b"), "no budget 'b'"),
        (("open", "a", "--epsilon", "0"), "it could pay for nothing"),
        (("open", "a", "--epsilon", "1000.1"), "promises nothing"),
        (("open", "a", "--epsilon", "much"), "epsilon"),
        (("open", "a", "--delta", "1e-6"), "--delta needs --epsilon"),
        (("open", "a", "--epsilon", "1", "--delta", "1e-6"), "no place under a cap"),
        (("open", "a", "--store", "x.db"), "given together"),
        (("open", "a", "--population", "visitors"), "given together"),
        (("list", "a"), "A list takes no name"),
        (("list", "--epsilon", "1"), "A list takes no name"),
        (("list", "--delta", "1"), "A list takes no name"),
        (("list", "--under", "a"), "A list takes no name"),
    ],
)
def test_what_cannot_be_opened(ameles: Program, arguments: tuple[str, ...], told: str) -> None:
    ended = ameles("budget", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert json.loads(ameles("budget", "list", "--json").out)["budgets"] == []


@pytest.mark.parametrize(
    ("cap", "given", "kept"),
    [
        (Approx(2, "1e-6"), (), Approx("1/2", "1e-6")),
        (Approx(2, "1e-6"), ("--delta", "1e-7"), Approx("1/2", "1e-7")),
        (Pure(2), (), Pure("1/2")),
        (Concentrated(2), (), Concentrated("1/8")),
    ],
)
def test_a_store_without_a_plan(
    ameles: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cap: Loss,
    given: tuple[str, ...],
    kept: Loss,
) -> None:
    monkeypatch.chdir(tmp_path)
    where = "--store", "s.db", "--population", "people"
    with closing(open_store("s.db")) as store:
        assert ameles("budget", "open", "a", *where).code == 4
        with store.writing() as transaction:
            transaction.open_population(
                "people", cap=cap, unit=EVENT, neighbours=Neighbours.ADD_REMOVE
            )
        assert ameles("budget", "open", "a", "--epsilon", "1/2", *given, *where).code == 0
        with store.reading() as transaction:
            (record,) = transaction.budget_records("people")
    assert (record.name, record.cap) == ("a", kept)
    ended = ameles("budget", "list", "--store", "other.db", "--population", "people")
    assert ended.code == 4
    assert not Path("other.db").exists()


@pytest.mark.sqlite_only("a file is made, or not")
def test_a_new_population_is_opened_on_the_terms_of_the_plan(ameles: Program, fresh: Path) -> None:
    for wrong in (("a", "--under", "b"), ("visitors",), ("a", "--epsilon", "0")):
        assert ameles("budget", "open", *wrong).code == 2
    change("epsilon = 1.0", "epsilon = 1.0\ndelta = 0.5")
    assert "It is 0.5, and a launch takes at most 0.01." in ameles("budget", "open", "a").err
    change("delta = 0.5", "delta = 0")
    assert sorted(file.name for file in fresh.iterdir()) == ["ameles.toml", "visits.csv"]
    assert ameles("budget", "list").code == 4
    change("epsilon = 1.0", 'epsilon = 1.0\ncap = 3\nbudget = "study-a"')
    refused = ameles("run", "--until", "2025-10-02")
    assert refused.code == 2
    assert "Population 'visitors' has no budget 'study-a'." in refused.err
    assert "try: ameles budget open study-a --epsilon NUMBER" in refused.err
    for command in ("plan", "check"):
        assert "no budget 'study-a'" in ameles(command).err
    ended = ameles("budget", "open", "study-a", "--epsilon", "2")
    assert ended.code == 0
    assert "Opened population 'visitors' with a cap of epsilon 3." in ended.err
    planned = ameles("plan")
    assert "epsilon 1 of budget 'study-a' of population 'visitors', once" in planned.out
    assert (
        "epsilon 3 left of epsilon 3, its budget 'study-a' has epsilon 2 left of epsilon 2; "
        in (planned.out + planned.err)
    )
    assert ameles("run", "--until", "2025-10-02").code == 0
    ledger = json.loads(ameles("ledger", "--json").out)
    assert {entry["by"] for entry in ledger["entries"]} == {"study-a"}
    assert ledger["budgets"][0]["left"] == {"currency": "pure", "epsilon": "1"}


@pytest.mark.usefixtures("site")
def test_a_plan_that_its_budget_cannot_pay_is_refused(ameles: Program) -> None:
    assert ameles(*RENEW).code == 0
    change('name = "flu"', 'name = "colds"')
    change('csv = "releases.csv"', 'csv = "colds.csv"')
    change("epsilon = 1.0", 'epsilon = 1.0\nbudget = "study-a"')
    until = "--until", "2025-10-02"
    missing = ameles("run", *until)
    assert missing.code == 2
    assert "why: no budget below its cap was opened" in missing.err
    assert (ameles("plan").code, ameles("check").code) == (2, 2)
    assert ameles("budget", "open", "research", "--epsilon", "0.7").code == 0
    assert "why: its budgets are 'research'" in ameles("run", "--until", "2025-10-02").err
    assert ameles("budget", "open", "study-a", "--under", "research").code == 0
    planned = ameles("plan")
    assert "its budget 'study-a' has no cap of its own; launching this stream needs epsilon 1" in (
        planned.out + planned.err
    )
    refused = ameles("run", "--until", "2025-10-02")
    assert refused.code == 3
    assert "this plan needs epsilon 1; budget 'research' has 0.7 left of 0.7" in refused.err
    change("epsilon = 1.0", "epsilon = 0.7")
    assert ameles("run", "--until", "2025-10-02").code == 0
    assert "epsilon 0.7" in ameles("budget", "list").out


@pytest.mark.usefixtures("site")
def test_a_launched_stream_goes_on_and_keeps_its_payer(ameles: Program) -> None:
    assert ameles("budget", "open", "study-a").code == 0
    assert ameles("run", "--until", "2026-04-01").code == 0
    change("epsilon = 1.0", 'epsilon = 1.0\nbudget = "study-a"')
    ended = ameles("run", "--until", "2026-04-01")
    assert ended.code == 2
    assert "privacy.budget: was absent, is study-a" in ended.err


@pytest.mark.usefixtures("fresh")
def test_who_is_asked_hears_which_budget_pays(typed: Program, type_in: TypeIn) -> None:
    change("epsilon = 1.0", 'epsilon = 1.0\nbudget = "study-a"')
    assert typed("budget", "open", "study-a").code == 0
    type_in("n\n")
    ended = typed("run", "--until", "2025-10-02")
    assert "spends epsilon 1 of budget 'study-a' of population 'visitors' forever" in ended.err


@pytest.mark.usefixtures("site")
def test_the_cap_of_a_budget_is_renewed(ameles: Program, type_in: TypeIn) -> None:
    ameles("budget", "open", "study", "--epsilon", "0.5")
    ameles("budget", "open", "free")
    renew = "budget", "renew", "study", "--epsilon", "0.25", "--why", "a second wave"
    assert "needs --yes if there is no terminal" in ameles(*renew).err
    type_in("n")
    refused = ameles(*renew)
    assert "adds epsilon 0.25 to the cap of budget 'study', which is epsilon 0.5" in refused.err
    assert "The cap of budget 'study' was not renewed." in refused.err
    renewed = ameles(*renew, "--yes")
    assert renewed.code == 0
    assert renewed.err == "Added epsilon 0.25 to the cap of budget 'study'.\n"
    assert "epsilon 0.75" in renewed.out
    assert "by epsilon 0.25: a second wave" in renewed.out
    study, _ = json.loads(ameles("budget", "list", "--json").out)["budgets"]
    assert study["cap"] == {"currency": "pure", "epsilon": "3/4"}
    assert [one["why"] for one in study["renewals"]] == ["a second wave"]
    exported = json.loads(ameles("ledger", "--export").out)["budgets"][0]
    assert exported["renewals"][0]["why"] == "a second wave"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("renew", "study", "--epsilon", "1"), "A renewal needs a name, --epsilon or --delta"),
        (("renew", "--epsilon", "1", "--why", "y"), "A renewal needs a name"),
        (("renew", "study", "--epsilon", "0", "--why", "y"), "--epsilon must be above 0"),
        (("renew", "none", "--epsilon", "1", "--why", "y"), "has no budget 'none'"),
        (("renew", "free", "--epsilon", "1", "--why", "y"), "no cap of its own"),
        (("renew", "visitors", "--epsilon", "1", "--why", "y", "--yes"), "the population itself"),
        (("list", "--why", "y"), "--why and --yes are for a renewal"),
        (("open", "new", "--yes"), "--why and --yes are for a renewal"),
    ],
)
def test_what_cannot_be_renewed(ameles: Program, arguments: tuple[str, ...], told: str) -> None:
    ameles("budget", "open", "study", "--epsilon", "0.5")
    ameles("budget", "open", "free")
    ended = ameles("budget", *arguments)
    assert ended.code == 2
    assert told in ended.err
