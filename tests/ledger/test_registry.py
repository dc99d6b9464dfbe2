"""The registry: complete, exact, and plain JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from ameles.core.guarantee import EVENT, Neighbours, user_window
from ameles.core.loss import Concentrated, Loss, Pure, loss_from_dict
from ameles.ledger import Ledger
from ameles.ledger.registry import Deployment, registry
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import Zero
from tests.ledger.populations import costing

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
FLU = Deployment(
    name="flu",
    cadence="1d",
    start=MARCH,
    horizon=365,
    late="next",
    end=MARCH + timedelta(days=365),
    launched=MARCH,
)


def visitors(cap: Loss) -> Ledger:
    return Ledger(
        "visitors",
        cap=cap,
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        clock=lambda: MARCH,
    )


def test_the_fields_that_public_registries_ask_for() -> None:
    ledger = visitors(Pure(1))
    recipes = {name: SimpleOneCounter(epsilon="1/3", horizon=365) for name in ("fever", "cough")}
    ledger.launch(recipes, on="flu", why="dashboard")
    ledger.renew(Pure(1), why="consent")
    record = registry(ledger, implementation="0.1.0", now=MARCH, deployments=[FLU])
    assert record == json.loads(json.dumps(record, allow_nan=False))
    assert (record["ameles"], record["version"]) == ("registry", 1)
    assert record["implementation"]["version"] == "0.1.0"
    population = record["population"]
    assert (population["privacy_unit"], population["granularity"], population["adjacency"]) == (
        "one event",
        "event",
        "add-remove",
    )
    assert record["privacy_loss"]["flavour"] == "pure differential privacy"
    (flu,) = record["deployments"]
    wanted = {
        "name": "flu",
        "model": "central",
        "entries": [1, 2],
        "horizon": 365,
        "cadence": "1d",
        "late_data": "next",
        "gaps": [],
        "keys": "declared in the plan",
        "bounds": "declared",
        "looked": None,
        "intrusions": ["none"],
        "start": "2026-03-01T00:00:00Z",
        "end": "2027-03-01T00:00:00Z",
    }
    assert {name: flu[name] for name in wanted} == wanted
    entry = record["entries"][1]
    assert (entry["number"], entry["on"], entry["why"], entry["at"], entry["mechanism"]) == (
        2,
        "flu/cough",
        "dashboard",
        "2026-03-01T00:00:00Z",
        "SimpleOneCounter",
    )
    assert entry["guarantee"]["neighbours"] == "step"
    assert record["renewals"][0]["why"] == "consent"
    assert set(record["flags"]) == {"renewed"}


def test_the_budgets_below_the_cap_are_listed() -> None:
    people = visitors(Pure(1))
    study = people.child("study", cap=Pure("0.5"))
    study.child("analyst").start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="a test")
    first, second = registry(people, implementation="1", now=MARCH)["budgets"]
    assert (first["name"], first["parent"], second["parent"]) == ("study", None, "study")
    assert first["cap"]["exact"] == {"currency": "pure", "epsilon": "1/2"}
    assert first["left"]["exact"] == first["cumulative"]["exact"] == second["cumulative"]["exact"]
    assert (second["cap"], second["left"]) == (None, None)


def test_the_numbers_are_exact_and_their_decimals_never_understate() -> None:
    ledger = visitors(Pure(1))
    ledger.start(costing("1/3"), on="x", why="y")
    ledger.start(costing("1/10"), on="x", why="y")
    record = registry(ledger, implementation="0.1.0", now=MARCH, window=timedelta(days=10))
    loss = record["privacy_loss"]
    assert loss_from_dict(loss["cumulative"]["exact"]) == ledger.spent == Pure("13/30")
    assert loss_from_dict(loss["left"]["exact"]) == Pure("17/30")
    assert loss_from_dict(record["burn_rate"]["spent"]["exact"]) == Pure("13/30")
    assert record["burn_rate"]["per_day"] is None, "a launch is no rate"
    later = registry(ledger, implementation="0.1.0", now=MARCH + timedelta(days=10))
    assert later["burn_rate"]["per_day"] is None
    later = registry(ledger, implementation="0.1.0", now=MARCH + timedelta(days=30))
    assert loss_from_dict(later["burn_rate"]["per_day"]["exact"]) == Pure(0)
    total = sum(Fraction(entry["paid"]["exact"]["epsilon"]) for entry in record["entries"])
    assert total == Fraction(13, 30)
    for each in (loss["cumulative"], loss["left"], *(e["paid"] for e in record["entries"])):
        decimal = Fraction(repr(each["decimal"]["epsilon"]))
        exact = Fraction(each["exact"]["epsilon"])
        assert exact <= decimal <= exact + Fraction(1, 10**15)


def test_a_loss_in_rho_is_told_as_epsilon_too() -> None:
    ledger = visitors(Concentrated(1))
    ledger.start(costing(1), on="x", why="y")
    loss = registry(ledger, implementation="0.1.0", now=MARCH)["privacy_loss"]
    assert loss["flavour"] == "zero-concentrated differential privacy"
    assert loss["cumulative"]["equivalent"]["delta"] == 1e-6
    assert 1 < loss["cumulative"]["equivalent"]["epsilon"] < 6
    assert "equivalent" not in loss["renewed"]


def test_flags() -> None:
    tested = Ledger(
        "visitors",
        cap=Pure(1),
        unit=user_window(30),
        neighbours=Neighbours.USER_PRESENCE,
        contributions=1,
        noise=Zero(),
        clock=lambda: MARCH,
    )
    assert set(flags(tested)) == {"not genuine", "per window"}
    tested.start(SimpleTwoCounter(epsilon=1), on="flu", why="y")
    assert set(flags(tested)) == {"not genuine", "per window", "retired", "endless"}
    plain = visitors(Pure(1))
    assert flags(plain) == {}
    plain.start(costing("1/2"), on="x", why="y")
    assert flags(plain) == {}
    record = registry(plain, implementation="0.1.0", now=MARCH, genuine=False)
    assert set(record["flags"]) == {"not genuine"}
    assert record["implementation"]["noise"] == "of a test"


def flags(ledger: Ledger) -> dict[str, str]:
    flagged = registry(ledger, implementation="0.1.0", now=MARCH)["flags"]
    assert isinstance(flagged, dict)
    return flagged


def test_a_stream_without_a_plan_or_without_entries_is_there_too() -> None:
    ledger = visitors(Pure(1))
    ledger.start(costing("1/2"), on="a table", why="y")
    record = registry(ledger, implementation="0.1.0", now=MARCH, deployments=[FLU])
    table, flu = record["deployments"]
    assert (table["name"], table["horizon"], "cadence" in table) == ("a table", 1, False)
    assert (flu["name"], flu["loss"], flu["entries"]) == ("flu", None, [])
    assert record["entries"][0]["mechanism"] is None, "the recipe of a test has no name"


def test_the_horizon_of_a_stream_is_its_longest_and_none_is_longer_than_any() -> None:
    ledger = visitors(Pure(9))
    for on, horizon in (("flu/a", 30), ("flu/b", 365), ("flu/c", 7), ("cough/a", 30)):
        ledger.start(SimpleOneCounter(epsilon=1, horizon=horizon), on=on, why="y")
    ledger.start(SimpleTwoCounter(epsilon=1), on="cough/b", why="y")
    record = registry(ledger, implementation="0.1.0", now=MARCH)
    horizons = {each["name"]: each["horizon"] for each in record["deployments"]}
    assert horizons == {"flu": 365, "cough": None}
    assert "endless" in record["flags"]
