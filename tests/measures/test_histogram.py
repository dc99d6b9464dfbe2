"""``histogram``: bins and categories through SQL, and fields that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.loss import Pure
from tests.measures.asked import (
    EVENTS,
    asked,
    largest_change,
    measure,
    problems,
    published,
    terms,
    user_terms,
)

FIELDS = {"column": "age", "edges": [0, 18, 65]}


def counted(release: Any) -> dict[str, int]:
    totals = asked(release).sum(axis=0).tolist()
    return {key: count for key, count in zip(release.keys, totals, strict=True) if count}


def test_bins() -> None:
    release = measure("histogram", column="age", edges=[0, 18, 65, 120])
    assert release.keys == ("[0,18)", "[18,65)", "[65,120]")
    assert counted(release) == {"[0,18)": 1, "[18,65)": 3, "[65,120]": 2}
    answer = published(release, terms(), asked(release))
    assert answer.value[-1].tolist() == [1, 3, 2]


def test_bins_by_keys_and_other() -> None:
    release = measure(
        "histogram", column="spent", edges=[-4, 0, 1], by={"region": ["north", "south"]}, other=True
    )
    assert release.columns == ("region", "spent")
    assert counted(release) == {
        "north/[0,1]": 1,
        "north/other": 3,
        "south/[-4,0)": 1,
        "south/other": 2,
        "other/[0,1]": 2,
        "other/other": 1,
    }


def test_categories() -> None:
    release = measure("histogram", column="region", categories=["south", "it's", "nowhere"])
    assert counted(release) == {"south": 3, "it's": 1}
    whole = measure("histogram", column="age", categories=[17, 18], other=True)
    assert counted(whole) == {"17": 1, "18": 1, "other": 8}
    crossed = measure(
        "histogram", column="adult", categories=[True], by={"region": ["north", "south"]}
    )
    assert counted(crossed) == {"north/true": 2, "south/true": 2}


def test_one_event_changes_one_count_by_one() -> None:
    for fields in ({"edges": [0, 50, 100]}, {"categories": [17, 40]}):
        release = measure("histogram", column="age", other=True, **fields)
        assert largest_change(release, EVENTS) == release.reach == 1
        recipe = release.recipe(user_terms(), Pure(1))
        assert (recipe.contributions, recipe.bound) == (2, 2)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({}, "exactly one of edges and categories"),
        ({"edges": [0, 1], "categories": ["a"]}, "exactly one of edges and categories"),
        ({"edges": [0, 1], "by": {"age": [1]}}, "already divided"),
        ({"categories": []}, "a list of the declared categories"),
        ({"categories": "a"}, "a list of the declared categories"),
        ({"categories": [1.5]}, "texts or whole numbers"),
        ({"categories": ["1", 1]}, "declared twice"),
        ({"categories": ["a/b"], "by": {"region": ["c"]}}, "has a slash"),
        ({"categories": ["other"], "other": True}, "adds it again"),
        ({"edges": [1, 0]}, "above the one before"),
    ],
)
def test_bad_fields_finish_the_sentence(fields: dict[str, Any], what: str) -> None:
    sentences = problems("histogram", column="age", **fields)
    assert len(sentences) == 1
    assert what in sentences[0]
    assert sentences[0].endswith(".")


def test_kinds_of_columns() -> None:
    bins = measure("histogram", column="x", edges=[0, 1])
    assert [r.key for r in bins.column_refusals({"x": "text"})] == ["column"]
    assert not list(bins.column_refusals({"x": "integer"}))
    categories = measure("histogram", column="x", categories=["a"])
    assert [r.key for r in categories.column_refusals({"x": "number"})] == ["column"]
    assert not list(categories.column_refusals({"x": "text"}))
