"""A weight column is a weight and nothing else, whoever asks and however it is written."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.engine.running.launch_checks import launch_problems
from ameles.plan.plan import check_plan
from ameles.plan.problems import BadPlan
from tests.engine.documents import good

COUNT = {"name": "visits", "measure": "count"}
EDGES = {"name": "sizes", "measure": "histogram", "column": "n", "edges": [0, 1000, 2000]}
KEYS: dict[str, Any] = {"lower": 0, "upper": 1, "granularity": 1}


def weighted(release: dict[str, Any], *, weight: str = "n", **stream: Any) -> dict[str, Any]:
    """A plan of events with a weight and one release."""
    document = good()
    columns = {"at": "timestamp", "region": "text", weight: "integer", "m": "integer"}
    document["stream"] |= {"columns": columns, "weight": weight} | stream
    document["privacy"] = {"population": "people", "unit": "event", "epsilon": 1}
    return document | {"release": [release]}


@pytest.mark.parametrize(
    ("key", "release"),
    [
        ("where", COUNT | {"where": "n >= 1000"}),
        ("where", COUNT | {"where": '"N" >= 1000'}),
        ("where", COUNT | {"where": "region = 'north' OR (CASE WHEN m > 1 THEN abs(N) END) > 2"}),
        ("where", COUNT | {"where": "m BETWEEN 1 AND n"}),
        ("where", COUNT | {"where": "n IS NULL"}),
        ("where", COUNT | {"where": "CAST(n AS VARCHAR) LIKE '1%'"}),
        ("by", COUNT | {"by": {"region": ["north"], "n": [1, 2]}}),
        ("by", {"name": "most", "measure": "top", "k": 1, "by": {"n": [1, 2]}}),
        ("column", EDGES),
        ("column", {"name": "h", "measure": "histogram", "column": "n", "categories": [1, 2]}),
        ("column", {"name": "s", "measure": "sum", "column": "n"} | KEYS),
        ("column", {"name": "a", "measure": "mean", "column": "n"} | KEYS),
        ("column", {"name": "q", "measure": "quantile", "column": "n", "edges": [0, 9], "q": 0.5}),
    ],
)
def test_the_weight_stands_nowhere_else(key: str, release: dict[str, Any]) -> None:
    with pytest.raises(BadPlan) as refused:
        check_plan(weighted(release))
    (problem,) = (p for p in refused.value.problems if "weight, and nothing else" in p.what)
    assert problem.key == f"release '{release['name']}'.{key}"
    assert problem.why
    assert problem.tip


def test_not_under_a_name_that_sql_takes_for_the_same() -> None:
    document = weighted(COUNT | {"where": '"N" >= 1000'})
    document["stream"]["columns"]["N"] = "integer"
    with pytest.raises(BadPlan, match="weight, and nothing else"):
        check_plan(document)


def test_a_weight_in_capitals_is_the_same_column() -> None:
    with pytest.raises(BadPlan, match="weight, and nothing else"):
        check_plan(weighted(COUNT | {"where": "n >= 1000"}, weight="N"))


@pytest.mark.parametrize(
    ("weight", "other", "refused"),
    [
        ("c.n", "c", True),  # the text of the object has the weight in it
        ("c.d.n", "c.d", True),
        ("c.d.n", "c", True),
        ("w\\x", "w\\\\x", True),  # a backslash by itself, and one that is escaped
        ("c.n", "c.m", False),
        ("c.n", "cn", False),
        ("c\\.n", "c", False),  # a key with a dot
    ],
)
def test_nor_inside_another_column_of_json(weight: str, other: str, refused: bool) -> None:
    quoted = '"' + other.replace('"', '""') + '"'
    releases: list[dict[str, Any]] = [
        COUNT | {"where": f"contains({quoted}, '1000')"},
        COUNT | {"by": {other: ["1000"]}},
    ]
    for release in releases:
        document = weighted(release, weight=weight, source="events.jsonl")
        document["stream"]["columns"][other] = "text"
        plan = check_plan(document)
        problems = [p for p in launch_problems(plan) if "has the weight" in p.what]
        assert bool(problems) == refused
        document["stream"]["source"] = "events.csv"  # where a name is a name
        assert not [p for p in launch_problems(check_plan(document)) if "has the" in p.what]


def test_other_columns_and_texts_that_look_like_it() -> None:
    check_plan(weighted(COUNT | {"where": "m >= 3 AND region <> 'n >= 1000'"}))
    check_plan(weighted(COUNT | {"by": {"region": ["n"]}}))


def test_nor_as_the_time_or_the_user() -> None:
    with pytest.raises(BadPlan, match="must be declared as timestamp"):
        check_plan(weighted(COUNT, time="n"))
    document = weighted(COUNT)
    document["privacy"] |= {"unit": "user", "user": "n", "max_per_step": 1, "max_steps": 1}
    with pytest.raises(BadPlan, match="unit event only"):
        check_plan(document)
