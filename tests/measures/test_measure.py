"""What all measures share: their fields in a plan, their keys, kinds of columns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.measures.asked import measure, problems, terms


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"by": {"region": []}}, "no declared keys for 'region'"),
        ({"by": "region"}, "must be a table of columns"),
        ({"by": {"region": ["a", "a"]}}, "declared twice"),
        ({"by": {"region": ["1", 1]}}, "declared twice"),
        ({"by": {"region": [1.5]}}, "texts or whole numbers"),
        ({"by": {"region": ["a", "other"]}, "other": True}, "adds it again"),
        ({"by": {"region": ["a/b"], "adult": [True]}}, "has a slash"),
        ({"other": True}, "no meaning without declared keys"),
        ({"share": 0}, "above 0 and up to 1"),
        ({"share": 1.5}, "above 0 and up to 1"),
        ({"share": "much"}, "must be a number"),
        ({"name": "no spaces please"}, "A name has"),
        ({"by": {"": ["a"]}}, "must be the name of a column"),
        ({"by": {"a": list(range(1025)), "b": list(range(1024))}}, "1049600 cells"),
    ],
)
def test_bad_fields_finish_the_sentence(fields: dict[str, Any], what: str) -> None:
    sentences = problems("count", **fields)
    assert len(sentences) == 1
    assert what in sentences[0]
    assert sentences[0].endswith(".")


def test_one_slash_is_fine_where_nothing_is_separated() -> None:
    assert measure("count", by={"region": ["a/b"]}).keys == ("a/b",)


def test_kinds_of_columns() -> None:
    release = measure("count", by={"region": ["a"], "spent": [1], "at": ["x"]})
    kinds = {"region": "text", "spent": "number", "at": "timestamp"}
    refusals = list(release.column_refusals(kinds))
    assert [refusal.key for refusal in refusals] == ["by", "by"]
    assert refusals[0].what == (
        "The column 'spent' is declared as number and must be text, integer or boolean here."
    )
    assert release.columns == ("region", "spent", "at")
    assert not list(release.refusals(terms(), weighted=True))


def test_releases_go_through_json_and_back() -> None:
    release = measure("quantile", column="age", edges=[0, "1/3", 1.5], q=0.5, share="1/3")
    again = measure("quantile", **release.model_dump(mode="json", exclude={"name", "measure"}))
    assert again == release
